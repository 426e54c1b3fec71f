"""Work in a thread of its own, for a caller who may stop waiting for it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def in_thread(function: Callable[..., T], *arguments: Any) -> Future[T]:  # noqa: ANN401
    """Returns the future of ``function(*arguments)``, which works in a new thread.

    A thread cannot be stopped: it is done when it is done, whoever waits for it. It keeps
    neither an event loop nor the process from ending.
    """
    future: Future[T] = Future()
    # From the beginning it is too late to cancel it.
    future.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(function, *arguments)
        except BaseException as error:  # It is raised where the future is waited for.
            future.set_exception(error)
        else:
            future.set_result(result)

    try:
        threading.Thread(target=work, daemon=True).start()
    except RuntimeError as error:  # The system has no more threads.
        future.set_exception(error)
    return future
