"""A call in a thread of its own, so that the main thread can answer signals and say what it waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Background(Generic[Value]):
    """A call that has begun. Its thread does not keep the program from ending.

    >>> Background(lambda: 6 * 7).result()
    42
    """

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._future: Future[Value] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Whether the call ends within so many seconds."""
        self._thread.join(seconds)
        return self._future.done()

    def result(self) -> Value:
        """Wait for what the call returns or raises."""
        return self._future.result()

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except BaseException as error:  # raised again by whoever asks for the result
            self._future.set_exception(error)
