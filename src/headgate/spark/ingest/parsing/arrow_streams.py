"""Reads Arrow streams from strangers: whatever the bytes say, the process survives, and memory stays within bounds.

Arrow checks the structure of messages, and `validate(full=True)` what buffers hold. What remains are streams that are
valid and enormous: buffers that are compressed a millionfold, columns that need no bytes for a billion rows, and texts
that many rows refer to. They are refused by what they say of themselves, before anything is computed with them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import HeadgateError

MOST_ROWS = 10_000_000  # of one stream; also the elements of all lists in a column
MOST_BYTES = 1 << 30  # of one column after its dictionary is written out
_HEADER, _COMPRESSION = 2, 3  # fields of the tables Message and RecordBatch in Arrow's format
_BROKEN = (pa.ArrowException, OSError, ValueError, TypeError, IndexError, KeyError, struct.error)
_BATCHES = ("record batch", "dictionary")


def read_stream(data: bytes, names: Sequence[str]) -> pa.Table:
    """The table of an Arrow stream with those of its columns that have these names; one that lies is refused."""
    try:
        _check_messages(data)
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            batches = [_checked(batch, names) for batch in _limited(reader)]
        return pa.Table.from_batches(batches) if batches else pa.table({})
    except HeadgateError:
        raise
    except (*_BROKEN, MemoryError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise _refused(line) from None


def _refused(why: str) -> HeadgateError:
    return HeadgateError(f"the Arrow stream cannot be read: {why}", hint="send what an Arrow stream writer has written")


def _check_messages(data: bytes) -> None:
    """Refuse compressed buffers: how large they become is known only when the memory is taken."""
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(data)):
        if message.type in _BATCHES and _compressed(message.metadata.to_pybytes(), message.type == "dictionary"):
            raise _refused("its buffers are compressed")


def _compressed(metadata: bytes, dictionary: bool) -> bool:
    """Whether a message, whose structure Arrow has checked, says that its buffers are compressed."""
    header = _table(metadata, struct.unpack_from("<I", metadata)[0], _HEADER)
    if header is not None and dictionary:
        header = _table(metadata, header, 1)  # the record batch in it
    return header is None or _table(metadata, header, _COMPRESSION) is not None


def _table(data: bytes, table: int, field: int) -> int | None:
    """The place of the table that a field of a table refers to, in a Flatbuffer; None if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * field
    if entry >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + entry)[0]
    place: int = table + offset
    return place + int(struct.unpack_from("<I", data, place)[0]) if offset else None


def _limited(reader: Any) -> Any:
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        if rows > MOST_ROWS:
            raise _refused(f"it has more than {MOST_ROWS:,} rows")
        yield batch


def _checked(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The columns of a batch that are wanted, checked as a whole, without dictionaries."""
    batch.validate(full=True)
    found = [indices[0] for name in names if (indices := batch.schema.get_all_field_indices(name))]
    if not found:  # keeps its rows: they are dead letters, since none of their columns is known
        found = list(range(min(1, batch.num_columns)))
    columns = [_plain(batch.column(index)) for index in found]
    return pa.RecordBatch.from_arrays(columns, names=[batch.schema.field(index).name for index in found])


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = _without_dictionary(column)
    if _elements(column) > MOST_ROWS:
        raise _refused(f"a column has more than {MOST_ROWS:,} values")
    return column


def _without_dictionary(column: pa.Array) -> pa.Array:
    values = column.dictionary
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        size = pc.sum(pc.take(pc.binary_length(values), column.indices).cast(pa.int64()), min_count=0).as_py() or 0
        if size > MOST_BYTES:
            raise _refused(f"a column takes {size:,} bytes without its dictionary")
    elif pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        raise _refused(f"a dictionary has values of the type {kind}")
    return column.dictionary_decode()


def _elements(column: pa.Array) -> int:
    """How many values a column has, those in lists counted too; types that hold more than they show are refused."""
    kind = column.type
    if pa.types.is_struct(kind):
        return sum(_elements(column.field(index)) for index in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        parts = (column.keys, column.items) if pa.types.is_map(kind) else (column.values,)
        return len(column) + sum(map(_elements, parts))
    if pa.types.is_primitive(kind) or pa.types.is_null(kind) or _holds_bytes(kind) or pa.types.is_decimal(kind):
        return len(column)
    raise _refused(f"a column has the type {kind}")


def _holds_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    texts, bytes_ = types.is_string(kind) or types.is_large_string(kind), types.is_binary(kind)
    return bool(texts or bytes_ or types.is_large_binary(kind))
