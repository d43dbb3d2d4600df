"""A callback that may fail: what it did not take is kept, and given again when its query goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.spark.store.sinks import Call, Callback, Results


class UndeliveredError(HeadgateError):
    """Results wait for a callback that fails: their commits must not be forgotten."""


class Calling(Callback):
    """Calls a function with every result, in order, at least once; a failure is told and holds nobody else back.

    >>> from tempfile import mkdtemp
    >>> taken, wrong = [], [True]
    >>> def call(table):
    ...     if wrong.pop():
    ...         raise OSError("nobody there")
    ...     taken.extend(table["x"].to_pylist())
    >>> sink = Calling(Path(mkdtemp()), call, lambda error: print(error))
    >>> sink.roll_forward(1, pa.table({"x": [1, 2]}))
    nobody there
    >>> wrong += [False, False]
    >>> sink.roll_forward(2, pa.table({"x": [3]}))
    >>> taken, sink.progress
    ([1, 2, 3], 2)
    """

    def __init__(self, folder: Path, call: Call, failed: Callable[[Exception], None]) -> None:
        super().__init__(folder, call)
        self._failed = failed
        self._left: list[tuple[int, pa.Table]] = []
        self._delivering = threading.RLock()

    def roll_forward(self, number: int, table: pa.Table) -> None:
        self.roll_forward_all([(number, table)])

    def roll_forward_all(self, results: Results) -> None:
        with self._delivering:
            self._left.extend(results)
            try:
                while self._left:
                    super().roll_forward(*self._left[0])
                    del self._left[0]
            except Exception as error:
                self._failed(error)

    def sync(self) -> None:
        if self._left:
            raise UndeliveredError(f"{len(self._left)} results wait for a callback", hint="resume its query")
