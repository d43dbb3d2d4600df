"""A directory source and the log of its stream, for tests of what is read once and what twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.ingest.builders import PLAIN

from headgate.spark.ingest.sources import Batch, open_source
from headgate.spark.ingest.sources.directory import CHANGED
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
A_TICK = 0.02  # seconds: file systems tell times by the ticks of a clock


def text(*ids: int) -> str:
    return "".join(f'{{"id": {number}}}\n' for number in ids)


def place(path: Path, contents: str | bytes) -> None:
    """Give a complete file its name, as users are told to; one that has it is replaced."""
    data = contents.encode() if isinstance(contents, str) else contents
    path.with_name(f".{path.name}").write_bytes(data)
    path.with_name(f".{path.name}").replace(path)


def append(path: Path, *ids: int) -> None:
    with path.open("a") as file:
        file.write(text(*ids))


@dataclass
class Feed:
    """A directory source and the log to which its batches are appended, as an engine does it."""

    root: Path
    options: str = ""
    batches: list[Batch] = field(default_factory=list)  # of the latest look

    def __post_init__(self) -> None:
        self.folder = self.root / "in"
        self.folder.mkdir(exist_ok=True)
        self.begin()

    def begin(self) -> None:
        self.log = StreamLog.open(self.root / "log", PLAIN, SCHEMA)
        self.reader = open_source(f"directory, path=in{self.options}", PLAIN, self.root)
        self.reader.resume(self.log)

    def end(self) -> None:
        self.reader.close()
        self.log.close()

    def restart(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.end()
        meanwhile()
        self.begin()

    def look(self) -> list[int]:
        """The ids of the rows that one look has added to the log."""
        before = self.log.end
        self.batches = self.reader.read(0.0)
        for batch in self.batches:
            self.log.append(batch.rows, 1.0, batch.batch, batch.bad)
        return self.ids(before)

    def ids(self, first: int | None = None) -> list[int]:
        """The ids of the rows in the log."""
        rows = self.log.read(self.log.start if first is None else first, self.log.end)
        found: list[int] = rows["id"].to_pylist()
        return found

    def drop(self) -> None:
        """Remove what the log has, as retention does."""
        self.log.seal()
        self.log.drop_before(self.log.end)
        assert self.log.start == self.log.end

    def add_others(self, count: int) -> None:
        """Append batches that somebody else pushes."""
        for _ in range(count):
            self.log.append(SCHEMA.empty_table(), 1.0, f"push {self.log.appends}")

    @property
    def note(self) -> str:
        return self.reader.note

    def says_changed(self, *names: str) -> bool:
        """Whether exactly these files are told to have changed."""
        files = "1 file is" if len(names) == 1 else f"{len(names)} files are"
        return self.note == f"{files} not read: {', '.join(names)} in '{self.folder}'; {CHANGED}"


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    feed = Feed(tmp_path)
    yield feed
    feed.end()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many batches of dropped segments a log remembers in this test."""
    monkeypatch.setattr(log_files, "REMEMBERED", 3)
    return 3
