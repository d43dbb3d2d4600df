"""Rows that somebody has sent as bytes: JSON lines, CSV with a header, or an Arrow stream.

JSON lines are read by Arrow as whole blocks where that provably gives what `rows_of` gives line by line, and line by
line where not. Arrow is stricter than `rows_of` in all but a few points; these are looked at first, or in the result:

* it takes several objects on a line, and objects over several lines: lines must begin with { and end with }, and there
  must be as many rows as lines. (Between } and { on two lines no object can go on, so each line has whole objects.)
* it does not look at the encoding: the bytes must be UTF-8.
* it knows the word Inf: blocks in which that may be a number are not read at once.
* a record with none of the columns is a row of nulls to it: blocks with such rows are not read at once.
* -0 without a point is a whole number to Python, so that it has no sign as a double: blocks with such zeros likewise.
* it takes years before 1: times must be within the years of `cells`.
* it recurs into nested values: lines with many brackets are not read at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from headgate.model import HeadgateError, Stream
from headgate.model.times import within_years
from headgate.spark.ingest.parsing.arrow_streams import read_stream
from headgate.spark.ingest.parsing.cells import text_cell
from headgate.spark.ingest.parsing.records import Read, conform, raw_text, rows_of, schema_of

BLOCKS = (4096, 128)  # lines that are read at once if a larger block cannot be; after that line by line
NESTED = 64  # brackets of a line that is read by Arrow
_NUMBER_WORD = re.compile(rb"[^A-Za-z0-9_\"](?:Inf|NaN)")
_BOM = b"\xef\xbb\xbf"
FIELDS = "another number of fields than the header"


def json_lines_bytes(data: bytes, stream: Stream) -> Read:
    """The rows of JSON lines, and text and reason of the lines that are no rows; blank lines are left out."""
    return json_lines(data, schema_of(stream))


def json_lines(data: bytes, schema: pa.Schema) -> Read:
    r"""The same for an Arrow schema.

    >>> rows, bad = json_lines(b'{"a": 1}\r\n\n{"a": "x"}', pa.schema([("a", pa.int64())]))
    >>> rows.to_pylist(), bad
    ([{'a': 1}], [('{"a": "x"}', "column 'a': 'x' is not a whole number")])
    """
    lines = [line for line in map(bytes.strip, data.removeprefix(_BOM).split(b"\n")) if line]
    reading = _BlockReading(schema)
    reading.read(lines, BLOCKS)
    tables = [table for table in reading.tables if table.num_rows]
    return (pa.concat_tables(tables) if tables else schema.empty_table()), reading.bad


def json_lines_one_by_one(lines: Sequence[bytes], schema: pa.Schema) -> Read:
    """What `json_lines` gives, read line by line."""
    return rows_of([line.decode("utf-8", "surrogateescape") for line in lines], schema)


class _BlockReading:
    """Reads blocks of lines at once where possible, and keeps rows and bad lines in their order."""

    def __init__(self, schema: pa.Schema) -> None:
        self.tables: list[pa.Table] = []
        self.bad: list[tuple[str, str]] = []
        self._schema = schema
        self._parsed = _parsed_schema(schema)

    def read(self, lines: Sequence[bytes], smaller: Sequence[int]) -> None:
        """Read lines at once, or in smaller blocks if some of them cannot be read that way, or one by one."""
        table = None if self._parsed is None else _at_once(lines, self._parsed)
        if table is not None:
            self.tables.append(table.cast(self._schema, safe=False))
        elif self._parsed is None or not smaller:
            table, bad = json_lines_one_by_one(lines, self._schema)
            self.tables.append(table)
            self.bad += bad
        else:
            for start in range(0, len(lines), smaller[0]):
                self.read(lines[start : start + smaller[0]], smaller[1:])


def _parsed_schema(schema: pa.Schema) -> pa.Schema | None:
    """The types with which Arrow reads JSON for a schema; None if it would not read all of them as `cells` does."""
    fields = []
    for field in schema:
        kind = field.type
        if pa.types.is_floating(kind):
            kind = pa.float64()  # a number is rounded to double precision first, as Python does
        elif not (
            pa.types.is_signed_integer(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_string(kind)
            or (pa.types.is_timestamp(kind) and kind.unit == "us")
        ):
            return None
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields) if fields else None


def _at_once(lines: Sequence[bytes], schema: pa.Schema) -> pa.Table | None:
    """The rows of some lines, if all of them are rows and Arrow can be trusted to read them as `cells` does."""
    if not lines:
        return schema.empty_table()
    if not all(line[0] == 0x7B and line[-1] == 0x7D for line in lines):  # { and }
        return None
    data = b"\n".join(lines)
    if not _readable(data, lines):
        return None
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pj.read_json(pa.BufferReader(data), pj.ReadOptions(block_size=4 << 20), options)
    except pa.ArrowException:
        return None
    return table if table.num_rows == len(lines) and _plausible(table) else None


def _readable(data: bytes, lines: Sequence[bytes]) -> bool:
    """Whether Arrow takes nothing in these bytes that is no JSON, or more than it can bear."""
    flat = b"[" not in data and data.count(b"{") == len(lines)
    if not flat and max(line.count(b"[") + line.count(b"{") for line in lines) > NESTED:
        return False
    if (b"Inf" in data or b"NaN" in data) and _NUMBER_WORD.search(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _plausible(table: pa.Table) -> bool:
    """Whether no row is all null, and all times and numbers are such as `cells` takes."""
    empty = None
    for column in table.columns:
        empty = pc.is_null(column) if empty is None else pc.and_(empty, pc.is_null(column))
        if pa.types.is_floating(column.type) and not _usual(column.to_numpy()[pc.is_valid(column).to_numpy()]):
            return False
        if not within_years(column):
            return False
    return not pc.any(empty, min_count=0).as_py()


def _usual(numbers: Any) -> bool:
    """Whether numbers are finite, and no zero has a sign."""
    return bool(np.isfinite(numbers).all() and not (np.signbit(numbers) & (numbers == 0.0)).any())


def csv_bytes(data: bytes, stream: Stream) -> Read:
    """The rows of CSV with a header, and text and reason of the lines that are no rows."""
    text = io.StringIO(data.decode("utf-8-sig", "surrogateescape"), newline="")
    try:
        records = list(csv.DictReader(text))
    except csv.Error as error:
        raise HeadgateError(f"the CSV cannot be read: {error}", hint="send text with a header line") from None
    complete = [record for record in records if None not in record and None not in record.values()]
    rows, bad = rows_of(complete, schema_of(stream), text_cell)
    bad += [(raw_text(record), FIELDS) for record in records if None in record or None in record.values()]
    return rows, bad


def arrow_stream_bytes(data: bytes, stream: Stream) -> Read:
    """The rows of an Arrow stream, and text and reason of those that do not fit; a stream that lies is refused."""
    schema = schema_of(stream)
    return conform(read_stream(data, schema.names), schema)
