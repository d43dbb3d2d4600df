"""Reads a query's committed results by row number, without reading the files before it.

A row's number counts the rows of the query's commits in their order, from 0, and never changes: commits only append, a
merged file has the rows of its commits in the same order, and what the log forgets is in files by then. So a number is
a cursor that stays good across merges, restarts and shortening of the commit log.

Whoever wants all rows and then every new one does this, and gets each row once:

1. begin to follow the query, which yields (commit, rows) from now on (`followers`);
2. ask for the `position_after` the newest durable commit N: how many rows there are up to it;
3. read these by `read_range`;
4. take from what was followed only the commits after N.

A commit after N was not durable in step 2, so it was given to the follower, who was there since step 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError, unknown
from headgate.spark.sinks.committed_results import Logged, Portion, check_in_files, portions, read_log, table_of, tried
from headgate.spark.sinks.result_files import joined, reading, rows_in, stored_schema
from headgate.spark.store.atomic_files import safe_name
from headgate.spark.store.commits.records import Output
from headgate.spark.store.json_lines import from_lines

FILES_REMEMBERED = 100_000  # numbers of rows, some 200 bytes each


@dataclass(frozen=True, slots=True)
class ResultRange:
    """Some rows of a query's results, the number of the row after them, and how many are committed in all."""

    table: pa.Table
    next: int
    total: int


def read_range(
    directory: Path, query: str, first: int, limit: int, schema: pa.Schema | None = None, *, durable: int | None = None
) -> ResultRange:
    """At most `limit` rows from row number `first` on; `schema` gives the columns if there is no result yet.

    `durable` is the newest commit that is durable, if the caller knows it: rows of later ones, which are just being
    written, are left out then.
    """
    if first < 0 or limit < 0:
        raise HeadgateError(
            f"rows are counted from 0, found first row {first}, limit {limit}", hint="give no negative number"
        )
    folder = directory / "results" / safe_name(query)

    def attempt() -> ResultRange:
        found, _ = _found(directory, query, durable)
        columns = stored_schema(folder) or schema
        tables, position = [], 0
        for portion in found:
            rows = _rows(portion)
            begin, end = max(first - position, 0), min(first + limit - position, rows)
            if begin < end:
                tables.append(_cut(portion, columns, begin, end))
            position += rows
        table = joined(folder, tables, columns)
        return ResultRange(table, first + table.num_rows, position)

    return tried(attempt, folder)


def position_after(directory: Path, query: str, *, durable: int | None = None) -> tuple[int, int]:
    """The newest commit that a reading at this moment has, and how many rows of the query there are up to it."""

    def attempt() -> tuple[int, int]:
        found, newest = _found(directory, query, durable)
        return newest, sum(map(_rows, found))

    return tried(attempt, directory / "results" / safe_name(query))


def _found(directory: Path, query: str, durable: int | None) -> tuple[Sequence[Portion], int]:
    """Where the results are, in the order of the commits, and the newest commit among those that were looked at."""
    logged = read_log(directory / "commits", query, durable)
    check_readable(directory, query, logged)
    found, last = portions(directory, query, logged)
    return found, max(logged.newest or 0, last)


def check_readable(directory: Path, query: str, logged: Logged) -> None:
    """Refuse a query that nobody knows, or whose results are not kept in files."""
    check_in_files(query, logged)
    known = query in logged.sinks or query in logged.outputs
    if not known and not (directory / "results" / safe_name(query)).is_dir():
        raise unknown("query", query, logged.sinks)


def _rows(portion: Portion) -> int:
    if isinstance(portion, Output):
        return portion.rows
    stat = portion.stat()  # a file never changes, but another directory may come to the same place
    return _counted(portion, stat.st_ino, stat.st_mtime_ns, stat.st_size)


@lru_cache(FILES_REMEMBERED)
def _counted(path: Path, *identity: int) -> int:
    return rows_in(path)


def _cut(portion: Portion, schema: pa.Schema | None, begin: int, end: int) -> pa.Table:
    """The rows [begin, end) of a portion."""
    if isinstance(portion, Output):
        return portion.table().slice(begin, end - begin)
    if ".parquet" in portion.name:
        return _row_groups(portion, begin, end)
    if schema is None:  # the types are those that all lines show together
        return table_of(portion, None).slice(begin, end - begin)
    with reading(portion), open(portion, "rb") as file:
        return from_lines(islice(file, begin, end), schema)


def _row_groups(path: Path, begin: int, end: int) -> pa.Table:
    with reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        chosen, skipped, position = [], 0, 0
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if position + rows <= begin:
                skipped += rows
            elif position < end:
                chosen.append(number)
            position += rows
        return file.read_row_groups(chosen, use_threads=False).slice(begin - skipped, end - begin)
