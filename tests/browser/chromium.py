"""A headless Chromium, spoken to over two pipes: no port, no driver, no package.

The protocol is Chromium's own (DevTools); each message is JSON that ends in a zero byte.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

Message = dict[str, Any]


def binary() -> str | None:
    """Returns the path of a Chromium, or none if there is none."""
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), None)


class Chromium:
    """One page of a running browser."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._ids = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.events: list[Message] = []

    def open_page(self) -> None:
        """Opens an empty page, whose events are kept from now on."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Message:
        """Returns the result of a method of the protocol."""
        message: Message = {"id": next(self._ids), "method": method}
        message["params"] = parameters
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                return answer["result"]

    def visit(self, url: str, *, width: int, dark: bool) -> None:
        """Opens an address at a width and waits until it is loaded."""
        scheme = {
            "name": "prefers-color-scheme",
            "value": "dark" if dark else "light",
        }
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(
            event["method"] == "Page.loadEventFired" for event in self.events
        ):
            self._next()

    def value(self, expression: str) -> Any:
        """Returns the value of JavaScript, awaited."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def of(self, method: str) -> list[Message]:
        """Returns the parameters of the events of one kind since the last visit."""
        return [e["params"] for e in self.events if e["method"] == method]

    def _next(self, seconds: float = 60.0) -> Message:
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], end - time.monotonic())
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError("the browser must answer, got nothing")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: Message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def running(path: str, profile: Path) -> Iterator[Chromium]:
    """Runs a browser with an empty page, and ends it afterwards.

    Args:
        path: Its binary.
        profile: An empty folder for what it keeps.
    """
    theirs, write = os.pipe()
    read, back = os.pipe()
    # The browser reads from descriptor 3 and writes to 4.
    command = f'exec "$0" "$@" 3<&{theirs} 4>&{back}'
    arguments = [path, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        ["bash", "-c", command, *arguments],
        pass_fds=(theirs, back),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(back)
    browser = Chromium(read, write)
    try:
        browser.open_page()
        yield browser
    finally:
        process.terminate()
        process.wait(10.0)
        os.close(read)
        os.close(write)
