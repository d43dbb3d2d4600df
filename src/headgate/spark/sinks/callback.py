"""The sink `callback`: calls a function with every result, at least once.

The number of the newest commit that the function has taken is written to `progress.json` after the call. If the engine
crashes between the call and the write, the function gets that commit's results again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from headgate.model import Spec
from headgate.spark.sinks.base import Call, FunctionSink
from headgate.spark.sinks.registry import register
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import read_json, remove_temporary, write_json

_PROGRESS = "progress.json"


class CallbackSink(FunctionSink):
    """Calls a function with every result, and then writes down how far it has got."""

    durable = True

    def __init__(self, folder: Path, call: Call) -> None:
        super().__init__(call)
        disk.make_folder(folder)
        remove_temporary(folder)
        self._file = folder / _PROGRESS
        self.progress = self.given(folder)

    @staticmethod
    def given(folder: Path) -> int:
        """The newest commit whose results the function has taken; 0 before the first."""
        file = folder / _PROGRESS
        commit: int = read_json(file) if file.exists() else 0
        return commit

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if number > self.progress:
            super().roll_forward(number, table)
            write_json(self._file, number)
            self.progress = number

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        if number > self.progress:
            super().adopt(number, files)


@register("callback", needs_function=True)
def open_callback(spec: Spec, folder: Path, call: Call) -> CallbackSink:
    """Open the sink of the function that was given with the query."""
    return CallbackSink(folder, call)
