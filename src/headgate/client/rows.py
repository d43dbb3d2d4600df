"""Rows as the bodies of requests, in parts that a server takes at a time; and results as Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from headgate.client.connection import ARROW
from headgate.model import HeadgateError
from headgate.model.json_values import plain
from headgate.model.values import as_text

LINES = "application/x-ndjson"
PART = 4 << 20  # bytes of a body, about
_ROWS = "give a list of mappings (or JSON texts), a pyarrow.Table, or a DataFrame of pandas or polars"
Body = tuple[str, bytes]  # its content type, and itself


def bodies_of(rows: Any) -> Iterator[Body]:
    """The bodies of requests that push these rows; all rows are checked before the first."""
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return arrow_bodies(rows)
    if hasattr(rows, "__arrow_c_stream__"):
        return arrow_bodies(_from_arrow(rows))
    if isinstance(rows, Mapping):
        raise HeadgateError("append takes rows, found one mapping", hint="put it in a list: [row]")
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise HeadgateError(f"append takes rows, found {as_text(rows)}", hint=_ROWS)
    lines = [_line(row, place) for place, row in enumerate(rows)]
    return joined(lines)


def joined(lines: Iterable[bytes], kind: str = LINES, first: bytes = b"", part: int = PART) -> Iterator[Body]:
    r"""Lines in bodies of about `part` bytes, each beginning with `first`.

    >>> [body for _, body in joined([b"a\n", b"b\n", b"c\n"], part=4)]
    [b'a\nb\n', b'c\n']
    """
    taken: list[bytes] = []
    size = 0
    for line in lines:
        taken.append(line)
        size += len(line)
        if size >= part:
            yield kind, first + b"".join(taken)
            taken, size = [], 0
    if taken:
        yield kind, first + b"".join(taken)


def arrow_bodies(table: pa.Table, part: int = PART) -> Iterator[Body]:
    """A table as Arrow streams of about `part` bytes."""
    rows = max(1, int(table.num_rows * part / max(1, table.nbytes)))
    for begin in range(0, table.num_rows, rows):
        yield ARROW, arrow_stream(table.slice(begin, rows))


def arrow_stream(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    written = io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as writer:
        writer.write_table(table)
    return written.getvalue()


def read_arrow(body: bytes) -> pa.Table:
    """The table of an Arrow stream."""
    with pa.ipc.open_stream(pa.BufferReader(body)) as reader:
        return reader.read_all()


def _line(row: Any, place: int) -> bytes:
    if isinstance(row, str):
        return " ".join(row.splitlines()).encode("utf-8", "surrogateescape") + b"\n"
    if not isinstance(row, Mapping):
        raise HeadgateError(f"append takes rows, found {as_text(row)} at place {place}", hint=_ROWS)
    return json.dumps(plain(dict(row)), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _from_arrow(value: Any) -> pa.Table:
    try:
        return pa.table(value)
    except (pa.ArrowException, TypeError, ValueError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise HeadgateError(f"append cannot take {as_text(value)}: {line}", hint=_ROWS) from error
