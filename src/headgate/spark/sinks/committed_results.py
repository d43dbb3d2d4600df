"""Reads every committed result of a query exactly once, whether or not it is in a file yet, from any process.

The results of a commit are first in the commit log: inside the commit's record or, if they are large, as files in the
folder `aside` that the record names. Later they are delivered to files of the query's folder, and after that the log
forgets them. Reading follows the same way, without a lock that the engine would have to wait for:

1. Read the newest generation of the commit log. If that file is removed while it is read, it stays readable, as it is
   open; if it is removed before it is opened, there is a newer one. Commits before its first record are in files of the
   folder, durably: the log is never shortened further than that.
2. List the folder. The listing has every result that was in a file when it began (see `result_files`).
3. Take from the log the results that no file covers.

For example, the log has the commits 15 to 18 and the folder `merged-1-16` and `part-17-0`: then the results are those
of the two files and, from the log, those of commit 18.

*Nothing is lost*: a result that was committed when reading began is in the log that was read, or it was in a file
before the listing began. *Nothing is doubled*: a file's name says which commits it covers, and these are not taken from
the log.

Files of a commit that the log did not have when it was read are left out, since perhaps only some of the commit's files
are in place. A merged file, however, has all of each commit, so newer commits in it are read too. While the files of a
commit are being moved from `aside`, each is read from where it is. If a file has gone before it could be read, because
it was moved or merged, everything is done again, from the second time on with the lock under which no files are merged.

Rows are in the order of the commits, those of earlier queries with the same name first. A commit's record can be read
as soon as it is written, a moment before it is durable: so a reader may get rows that the engine has not acknowledged
yet, and if the disk fails just then, these rows are dropped and produced again.
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

from headgate.model import ConflictError, HeadgateError
from headgate.spark.sinks import table as table_sink
from headgate.spark.sinks.registry import is_file
from headgate.spark.sinks.result_files import (
    ResultFile,
    checked,
    joined,
    load,
    rows_in,
    stored_schema,
    unchanged,
)
from headgate.spark.store.atomic_files import damaged, safe_name
from headgate.spark.store.commits.records import Commit, CommittedState, Output, decode, decode_state
from headgate.spark.store.frame_file import read_frames

ATTEMPTS = 100
T = TypeVar("T")
Portion = Path | Output  # a file of results, or the results of a commit in the log
Located = tuple[int, int, Portion]  # with the commit and the index of the file, which give the order


@lru_cache
def _in_files(sink: str | None) -> bool:
    return is_file(sink)


@dataclass(slots=True)
class Logged:
    """What the commit log has of queries whose results go to files."""

    newest: int | None = None  # commit; None if there is no commit log
    begins: int | None = None  # likewise: the log has every commit after this one
    queries: set[str] = field(default_factory=set)  # those that exist, and removed ones with results in the log
    sinks: dict[str, str] = field(default_factory=dict)  # of the queries that exist
    outputs: dict[str, dict[int, Output]] = field(default_factory=lambda: defaultdict(dict))  # by query and commit

    @property
    def elsewhere(self) -> dict[str, str]:
        """The sinks of queries whose results are not kept in files."""
        return {query: sink for query, sink in self.sinks.items() if not _in_files(sink)}

    def add(self, number: int, commit: Commit, before: CommittedState) -> None:
        """Note the results of a commit; the sink of a query is the one it had at that commit."""
        for query, output in commit.outputs.items():
            entry = commit.queries.get(query) or before.queries.get(query) or {}
            # A name with "#" is a fragment log: rows that wait between two fragments of a query, and no results.
            if output.rows and "#" not in query and _in_files(entry.get("sink")):
                self.outputs[query][number] = output
        self.newest = number


def read_committed(directory_path: Path, query: str, schema: pa.Schema | None = None) -> pa.Table:
    """All committed results of a query whose sink is files; `schema` gives the columns if there is no result yet."""
    folder = directory_path / "results" / safe_name(query)

    def attempt() -> pa.Table:
        logged = read_log(directory_path / "commits", query)
        check_in_files(query, logged)
        columns = stored_schema(folder) or schema
        tables = [table_of(portion, columns) for portion in portions(directory_path, query, logged)[0]]
        return joined(folder, tables, columns)

    return tried(attempt, folder)


def check_in_files(query: str, logged: Logged) -> None:
    """Refuse a query whose results are not kept in files: they are where its sink has put them."""
    sink = logged.elsewhere.get(query)
    if sink is None:
        return
    table = table_sink.table_of(sink)
    raise ConflictError(
        f"query '{query}' gives its results to its sink '{sink}': they are not kept here",
        hint="follow it, or start it with the sink parquet or jsonl"
        if table is None
        else f"read the table with Spark: spark.table('{table}')",
    )


def known_queries(directory_path: Path) -> list[str]:
    """The queries whose results go to files, whether or not there are any yet, and removed ones that have results."""
    return _queries(directory_path, read_log(directory_path / "commits"))


def count_committed(directory_path: Path) -> dict[str, int]:
    """How many rows `read_committed` would read for each of the known queries."""
    logged = read_log(directory_path / "commits")
    return {query: _count(directory_path, query, logged) for query in _queries(directory_path, logged)}


def _queries(directory_path: Path, logged: Logged) -> list[str]:
    folders = {unquote(folder.name) for folder in (directory_path / "results").iterdir() if folder.is_dir()}
    return sorted(logged.queries | (folders - logged.elsewhere.keys()))


def _count(directory_path: Path, query: str, logged: Logged) -> int:
    already_read: Iterator[Logged] = iter([logged])  # for the first attempt; later ones read the log again

    def attempt() -> int:
        log = next(already_read, None) or read_log(directory_path / "commits", query)
        return sum(_rows(portion) for portion in portions(directory_path, query, log)[0])

    return tried(attempt, directory_path / "results" / safe_name(query))


def tried(attempt: Callable[[], T], folder: Path) -> T:
    """Repeat an attempt until no file has been moved or merged away meanwhile."""
    gone: str | None = None
    for _ in range(ATTEMPTS):
        with ExitStack() as stack:
            try:
                if gone is not None and folder.is_dir():
                    stack.enter_context(unchanged(folder))
                return attempt()
            except FileNotFoundError as error:
                gone = str(error.filename or error)
    raise HeadgateError(
        "a file of results is missing", where=gone or str(folder), hint="restore the data directory from a copy"
    )


def read_log(folder: Path, query: str | None = None, durable: int | None = None) -> Logged:
    """What the commit log has of one query's results, or of all queries' but only the numbers of rows.

    Commits after the newest one that is `durable` are left out, if the caller knows that.
    """
    read = partial(_read_log, folder, query, durable)
    for _ in range(ATTEMPTS):
        try:
            return read()
        except FileNotFoundError:  # the log was shortened meanwhile: there is a newer generation
            continue
        except HeadgateError:  # damaged, or read while a failed write was cut off and written anew: read once more
            break
    return read()


def _read_log(folder: Path, query: str | None, durable: int | None) -> Logged:
    logged = Logged()
    generations = sorted(folder.glob("*.log"))  # only a few names, so the system lists them at once
    if not generations:
        return logged
    frames = read_frames(generations[-1])
    first = next(frames, None)
    if first is None:
        hint = "restore it from a copy"
        raise HeadgateError("the first record is missing", where=str(generations[-1]), hint=hint)
    state = decode_state(first)
    logged.newest = logged.begins = state.number
    for payload in frames:
        try:
            number, commit = decode(payload, None if query is None else {query})
        except (KeyError, ValueError, TypeError, IndexError) as error:  # a record of something else
            raise damaged(generations[-1], "a record") from error
        if durable is not None and number > durable:
            break
        logged.add(number, commit if query is not None else _without_data(commit), state)
        state.apply(commit)
    logged.sinks = {name: str(entry.get("sink", "parquet")) for name, entry in state.queries.items()}
    to_files = {name for name, entry in state.queries.items() if _in_files(entry.get("sink"))}
    logged.queries = to_files | logged.outputs.keys()
    return logged


def _without_data(commit: Commit) -> Commit:
    outputs = {query: Output(output.rows, files=output.files) for query, output in commit.outputs.items()}
    return Commit(outputs=outputs, queries=commit.queries)


def portions(directory_path: Path, query: str, logged: Logged) -> tuple[list[Portion], int]:
    """Where a query's results are, in the order of the commits, and the last commit that a file among them has."""
    folder = directory_path / "results" / safe_name(query)
    in_folder = checked(folder, logged.begins) if folder.is_dir() else []
    files = [file for file in in_folder if logged.newest is None or file.first <= logged.newest]
    located: list[Located] = [(file.first, file.index, file.path) for file in files]
    for number, output in logged.outputs.get(query, {}).items():
        if not any(file.merged and file.first <= number <= file.last for file in files):
            delivered = [file for file in files if file.first == number]
            located += _undelivered(directory_path / "aside", number, output, delivered)
    located.sort(key=lambda each: each[:2])
    return [portion for _, _, portion in located], max((file.last for file in files), default=0)


def _undelivered(aside: Path, number: int, output: Output, delivered: Sequence[ResultFile]) -> list[Located]:
    """The results of a commit that are not in files of the query's folder."""
    if not output.files:
        return [] if delivered else [(number, 0, output)]
    moved = {file.index for file in delivered}
    return [(number, index, aside / name) for index, name in enumerate(output.files) if index not in moved]


def table_of(portion: Portion, schema: pa.Schema | None) -> pa.Table:
    """All rows of a portion."""
    return portion.table() if isinstance(portion, Output) else load(portion, schema)


def _rows(portion: Portion) -> int:
    return portion.rows if isinstance(portion, Output) else rows_in(portion)
