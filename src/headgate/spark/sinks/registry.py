"""Where results go: files exactly once, a callback and a table at least once, the rest as best they can.

A sink is named by a string like everything else: `parquet`, `jsonl`, `memory, rows=10000`, `console`, `blackhole`,
`table, name=db.alerts`, `callback`. Files may be some time behind what is committed, so that results of several commits
go into one: `parquet, behind=5s`.
"""

from __future__ import annotations

import math
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError, Spec, unknown
from headgate.model.values import as_text, located
from headgate.spark.sinks.files import FileSink
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import read_json, remove_temporary, write_json
from headgate.spark.store.commits.records import Output
from headgate.spark.store.json_lines import line
from headgate.workload.fields import read_span

_SETTINGS = {
    "parquet": ("behind",),
    "jsonl": ("behind",),
    "memory": ("rows",),
    "console": (),
    "blackhole": (),
    "table": ("name",),
    "callback": (),
}
_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}", re.ASCII)
_PROGRESS = "progress.json"
FILES = ("parquet", "jsonl")
BEHIND = 1.0  # seconds that files may be behind what is committed
Call = Callable[[pa.Table], object]
Results = Sequence[tuple[int, pa.Table]]  # (commit number, rows), rising


class Sink(Protocol):
    """What takes a query's committed results."""

    durable: bool  # whether commits are rolled forward again after a crash

    def roll_forward(self, number: int, table: pa.Table) -> None: ...
    def roll_forward_all(self, results: Results) -> None: ...
    def adopt(self, number: int, files: Sequence[Path]) -> None: ...
    def sync(self) -> None: ...
    def compact(self, upto: int | None = None) -> None: ...
    def close(self) -> None: ...


SinkOf = Callable[[str, Mapping[str, Any]], Sink]  # a query's name and what commits say of it


def deliver(sink: Sink, outputs: Sequence[tuple[int, Output]], aside: Path) -> None:
    """Bring one query's results of several commits, in rising order, to its sink; `aside` has the files they name."""
    inline: list[tuple[int, pa.Table]] = []
    for number, output in outputs:
        if output.files:
            sink.roll_forward_all(inline)
            inline = []
            sink.adopt(number, [aside / name for name in output.files])
        elif output.data:
            inline.append((number, output.table()))
    sink.roll_forward_all(inline)


def parse_sink(text: str) -> Spec:
    """Check a sink's name and settings.

    >>> parse_sink("memory, rows=500").settings
    {'rows': 500}
    >>> parse_sink("parquet, behind=-1 s")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: behind: must not be negative, found -1.0; write 0 or more
    """
    spec = Spec.parse(text)
    if spec.name not in _SETTINGS:
        raise unknown("sink", spec.name, _SETTINGS)
    spec.only(_SETTINGS[spec.name])
    rows = spec.settings.get("rows", 1)
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise HeadgateError(f"rows must be a whole number from 1, found {rows}", hint='write "memory, rows=10000"')
    if spec.name == "table":
        _check_table_name(spec.settings.get("name"))
    if "behind" in spec.settings:
        _behind(spec)
    return spec


def behind_of(text: str | None) -> float:
    """How many seconds results may wait before they are put into files; 0 for sinks that are not files.

    >>> behind_of("parquet"), behind_of("parquet, behind=0"), behind_of('jsonl, behind="500 ms"'), behind_of("console")
    (1.0, 0.0, 0.5, 0.0)
    """
    spec = parse_sink(text or "parquet")
    return _behind(spec) if spec.name in FILES else 0.0


def _behind(spec: Spec) -> float:
    value = spec.settings.get("behind", BEHIND)
    with located("behind"):
        seconds = read_span(value)
        if seconds == math.inf:
            raise HeadgateError(f"must be finite, found {as_text(value)}", hint='write for example "5 s"')
        return seconds


def _check_table_name(name: object) -> None:
    if name is None:
        raise HeadgateError("a table sink needs the name of a table", hint='write "table, name=db.alerts"')
    if not isinstance(name, str) or not _TABLE.fullmatch(name):
        hint = "letters, digits and _, with the database before it: db.alerts"
        raise HeadgateError(f"'{name}' is not a name of a table", hint=hint)


def is_file(text: str | None) -> bool:
    """Whether a sink keeps results in files that can be read.

    >>> is_file(None), is_file("jsonl"), is_file("console")
    (True, True, False)
    """
    return parse_sink(text or "parquet").name in FILES


def open_sink(text: str, folder: Path, call: Call | None = None) -> Sink:
    """Make the sink that a string names; its files, if any, are in `folder`.

    `call` is what a callback sink calls, and what appends to the table of a table sink.
    """
    spec = parse_sink(text)
    match spec.name:
        case name if name in FILES:
            return FileSink(folder, spec.name)
        case "memory":
            return MemorySink(int(str(spec.settings.get("rows", 10_000))))
        case "console":
            return BestEffortSink(_print)
        case "callback" | "table":
            if call is None:
                raise HeadgateError(f"a {spec.name} sink needs a function", hint="give one, or choose another sink")
            return CallbackSink(folder, call)
    return BestEffortSink(lambda table: None)


class BestEffortSink:
    """Hands tables over and forgets them; those of a crash are lost."""

    durable = False

    def __init__(self, call: Call) -> None:
        self._call = call

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if table.num_rows:
            self._call(table)

    def roll_forward_all(self, results: Results) -> None:
        for number, table in results:
            self.roll_forward(number, table)

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        self.roll_forward(number, pa.concat_tables([pq.read_table(file, partitioning=None) for file in files]))

    def sync(self) -> None:
        """Nothing is on disk."""

    def compact(self, upto: int | None = None) -> None:
        """Nothing is on disk."""

    def close(self) -> None:
        """Nothing is open."""


class MemorySink(BestEffortSink):
    """The newest results, for those who watch; older ones fall out.

    >>> ring = MemorySink(rows=3)
    >>> for number in (1, 2, 3):
    ...     ring.roll_forward(number, pa.table({"x": [number, number]}))
    >>> [number for number, _ in ring.since(0)], ring.tail(3)["x"].to_pylist()
    ([2, 3], [2, 3, 3])
    """

    def __init__(self, rows: int) -> None:
        super().__init__(lambda table: None)
        self.rows = rows
        self._tables: deque[tuple[int, pa.Table]] = deque()
        self._count = 0
        self._changed = threading.Condition()

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if not table.num_rows:
            return
        with self._changed:
            self._tables.append((number, table))
            self._count += table.num_rows
            while self._count - self._tables[0][1].num_rows >= self.rows:
                self._count -= self._tables.popleft()[1].num_rows
            self._changed.notify_all()

    def since(self, number: int, timeout: float = 0.0) -> list[tuple[int, pa.Table]]:
        """What is there of commits after that number; with a timeout it waits for the first."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._tables) and self._tables[-1][0] > number, timeout)
            return [(each, table) for each, table in self._tables if each > number]

    def tail(self, rows: int) -> pa.Table | None:
        """The newest rows, None before the first."""
        with self._changed:
            tables = [table for _, table in self._tables]
        if not tables:
            return None
        whole = pa.concat_tables(tables)
        return whole.slice(max(whole.num_rows - rows, 0))


class CallbackSink(BestEffortSink):
    """Calls a function with every result, at least once: progress is written after the call."""

    durable = True

    def __init__(self, folder: Path, call: Call) -> None:
        super().__init__(call)
        disk.make_folder(folder)
        remove_temporary(folder)
        self._file = folder / _PROGRESS
        self.progress = self.given(folder)

    @staticmethod
    def given(folder: Path) -> int:
        """The newest commit that the callback of a query has been given."""
        file = folder / _PROGRESS
        found: int = read_json(file) if file.exists() else 0
        return found

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if number > self.progress:
            super().roll_forward(number, table)
            write_json(self._file, number)
            self.progress = number

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        if number > self.progress:
            super().adopt(number, files)


def _print(table: pa.Table) -> None:
    for row in table.to_pylist():
        print(line(row), flush=True)
