"""All that is committed of a query's results, once, whether it is in a file yet or not; from any process.

Results of a commit are first in the commit log, inside the record or as files in `aside` that the record names. Later
they are in files of the query's folder, and after that the log forgets them. Reading goes the same way, and takes no
lock that the engine would wait for:

1. Read the commit log, from its newest generation. A generation that is removed meanwhile stays readable for those who
   have opened it; one that is gone before that is looked for again. Commits that came before its first record are in
   files of the folder, durably: the log is shortened no further.
2. List the folder. The listing has every result that was in a file when it began (see `resultfiles`).
3. What the log has and no file covers is taken from the log.

*Nothing is lost*: a result that was committed when reading began is in the log that was read, or was in a file before
the listing began. *Nothing is doubled*: names of files tell which commits they cover, and what a file covers is not
taken from the log. Files of a commit that the log did not have yet are left out: of several that belong to it only some
may be in place. A merged file has commits as a whole, so newer ones in it are taken along. Of a commit whose files
are just being moved from `aside`, each file is taken from where it is. If a file is gone when it is to be read, because
it was moved or merged, all is done again, the second time with the promise that no more files are merged meanwhile.

The rows are in the order of the commits. Those of former queries of the same name come first: their results stay. A
record is seen from when it is written, a moment before it is durable: what is read may be in advance of what the engine
has acknowledged, and after a failure of the disk that row may be taken back and produced again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError
from headgate.spark.sinks.registry import is_file
from headgate.spark.sinks.result_files import ResultFile, joined, listed, load, stored_schema, unchanged
from headgate.spark.store.atomic_files import safe_name
from headgate.spark.store.commits.records import Commit, CommittedState, Output, decode, decode_state
from headgate.spark.store.frame_file import read_frames

ATTEMPTS = 100
T = TypeVar("T")
Piece = Path | Output  # a file of results, or results that the commit log has


@lru_cache
def _in_files(sink: str | None) -> bool:
    return is_file(sink)


@dataclass(slots=True)
class Logged:
    """What the commit log says of results that go to files."""

    newest: int | None = None  # commit; None where there is no commit log
    queries: set[str] = field(default_factory=set)  # those that there are, and those that have results in the log
    outputs: dict[str, dict[int, Output]] = field(default_factory=lambda: defaultdict(dict))  # by query and commit

    def add(self, number: int, commit: Commit, before: CommittedState) -> None:
        """Take note of a commit; a query's sink is what was said of it by then."""
        for query, output in commit.outputs.items():
            told = commit.queries.get(query) or before.queries.get(query) or {}
            if output.rows and "#" not in query and _in_files(told.get("sink")):  # with "#": rows that wait inside one
                self.outputs[query][number] = output
        self.newest = number


def read_committed(directory_path: Path, query: str, schema: pa.Schema | None = None) -> pa.Table:
    """All committed results of a query whose sink is files; `schema` gives the columns where there is no result yet."""
    folder = directory_path / "results" / safe_name(query)

    def attempt() -> pa.Table:
        logged = read_log(directory_path / "commits", query)
        known = stored_schema(folder) or schema
        tables = [_table(piece, known) for piece in _pieces(directory_path, query, logged)]
        return joined(folder, tables, known)

    return _tried(attempt, folder)


def known_queries(directory_path: Path) -> list[str]:
    """The queries whose results go to files, whether or not there are any yet, and those that have left some."""
    return _known(directory_path, read_log(directory_path / "commits"))


def count_committed(directory_path: Path) -> dict[str, int]:
    """How many rows `read_committed` would find for each of the known queries."""
    logged = read_log(directory_path / "commits")
    return {query: _count(directory_path, query, logged) for query in _known(directory_path, logged)}


def _known(directory_path: Path, logged: Logged) -> list[str]:
    folders = (directory_path / "results").iterdir()
    return sorted(logged.queries | {unquote(folder.name) for folder in folders if folder.is_dir()})


def _count(directory_path: Path, query: str, logged: Logged) -> int:
    first: Iterator[Logged] = iter([logged])  # if that does not do, the log is read again

    def attempt() -> int:
        known = next(first, None) or read_log(directory_path / "commits", query)
        return sum(_rows(piece) for piece in _pieces(directory_path, query, known))

    return _tried(attempt, directory_path / "results" / safe_name(query))


def _tried(attempt: Callable[[], T], folder: Path) -> T:
    """Try until no file has gone away meanwhile."""
    missing: str | None = None
    for _ in range(ATTEMPTS):
        with ExitStack() as stack:
            try:
                if missing is not None and folder.is_dir():
                    stack.enter_context(unchanged(folder))
                return attempt()
            except FileNotFoundError as error:
                missing = str(error.filename or error)
    raise HeadgateError(
        f"a file of results is missing: {missing}",
        where=str(folder),
        hint="try again, or restore the data directory from a copy",
    )


def read_log(folder: Path, query: str | None = None) -> Logged:
    """What the commit log says of one query's results, or of all without the results themselves."""
    read = partial(_read_log, folder, query)
    for _ in range(ATTEMPTS):
        try:
            return read()
        except FileNotFoundError:  # shortened meanwhile: there is a newer generation
            continue
        except HeadgateError:  # damaged, or read while something was cut off and written anew
            break
    return read()


def _read_log(folder: Path, query: str | None) -> Logged:
    logged = Logged()
    generations = sorted(folder.glob("*.log"))  # a few names, which the system lists at one moment
    if not generations:
        return logged
    frames = read_frames(generations[-1])
    first = next(frames, None)
    if first is None:
        hint = "restore it from a copy"
        raise HeadgateError("the first record is missing", where=str(generations[-1]), hint=hint)
    state = decode_state(first)
    logged.newest = state.number
    for payload in frames:
        number, commit = decode(payload, None if query is None else {query})
        logged.add(number, commit if query is not None else _without_data(commit), state)
        state.apply(commit)
    files = {name for name, told in state.queries.items() if _in_files(told.get("sink"))}
    logged.queries = files | logged.outputs.keys()
    return logged


def _without_data(commit: Commit) -> Commit:
    outputs = {query: Output(output.rows, files=output.files) for query, output in commit.outputs.items()}
    return Commit(outputs=outputs, queries=commit.queries)


def _pieces(directory_path: Path, query: str, logged: Logged) -> list[Piece]:
    """Where a query's results are, in the order of the commits."""
    folder = directory_path / "results" / safe_name(query)
    found = listed(folder) if folder.is_dir() else []
    parts = [part for part in found if logged.newest is None or part.first <= logged.newest]
    pieces: list[tuple[int, int, Piece]] = [(part.first, part.index, part.path) for part in parts]
    for number, output in logged.outputs.get(query, {}).items():
        if not any(part.merged and part.first <= number <= part.last for part in parts):
            pieces += _rest(directory_path / "aside", number, output, [p for p in parts if p.first == number])
    pieces.sort(key=lambda piece: piece[:2])
    return [piece for _, _, piece in pieces]


def _rest(aside: Path, number: int, output: Output, parts: Sequence[ResultFile]) -> list[tuple[int, int, Piece]]:
    """What of a commit's results is not in files of the query's folder."""
    if not output.files:
        return [] if parts else [(number, 0, output)]
    moved = {part.index for part in parts}
    return [(number, index, aside / name) for index, name in enumerate(output.files) if index not in moved]


def _table(piece: Piece, schema: pa.Schema | None) -> pa.Table:
    return piece.table() if isinstance(piece, Output) else load(piece, schema)


def _rows(piece: Piece) -> int:
    if isinstance(piece, Output):
        return piece.rows
    if ".parquet" in piece.name:
        return int(pq.read_metadata(piece).num_rows)
    with open(piece, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 1 << 20), b""))
