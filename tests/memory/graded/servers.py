"""A local endpoint that answers a chat completion, or misbehaves as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memory.graded.compressors.snapshot import SECTIONS

GOOD = "\n".join([f"## {name}\nnone" for name in SECTIONS])

Behaviour = Callable[[BaseHTTPRequestHandler], None]


class Endpoint:
    """What a test sees of the server: its address, and what was asked of it."""

    def __init__(self, url: str, requests: list[dict[str, Any]]) -> None:
        self.url = url
        self.requests = requests


@contextmanager
def endpoint(behaviour: Behaviour) -> Iterator[Endpoint]:
    """Runs a server on a free port of this machine; it ends with the block."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            requests.append(
                {
                    "path": self.path,
                    "key": self.headers.get("Authorization"),
                    "body": json.loads(self.rfile.read(length)),
                }
            )
            try:
                behaviour(self)
            except OSError:
                # The client has gone, as it should where the server is too slow.
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_port}/v1", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    """Answers with ``body``."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def answering(text: object, reason: str = "stop", status: int = 200) -> Behaviour:
    """Returns a server that says ``text``."""
    choice = {"message": {"role": "assistant", "content": text}}
    body = json.dumps({"choices": [{**choice, "finish_reason": reason}]}).encode()
    return lambda handler: send(handler, status, body)
