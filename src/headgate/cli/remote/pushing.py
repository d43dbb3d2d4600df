"""Files and stdin as bodies of requests that push rows: JSON lines and CSV in parts, Parquet and Arrow by batches."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headgate.cli.progress import Bar
from headgate.model import HeadgateError, unknown

if TYPE_CHECKING:
    from headgate.client import Client
    from headgate.client.rows import Body

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
}
FORMATS = ("jsonl", "csv", "parquet", "arrow")
CSV = "text/csv"
STDIN = Path("-")
PART = 4 << 20  # bytes


def push_files(server: Client, stream: str, files: list[Path], format: str | None) -> dict[str, int]:
    """Push all rows of files; how many were accepted and rejected. All files are looked at before the first is sent."""
    kinds = {file: format_of(file, format) for file in files}
    for file in files:
        if file != STDIN and not file.is_file():
            raise HeadgateError(f"there is no file '{file}'", hint="check the path")
    total = {"accepted": 0, "rejected": 0}
    size = sum(file.stat().st_size for file in files if file != STDIN)
    sent = 0
    with Bar(max(1, size), what="bytes") as bar:
        for file, kind in kinds.items():
            for body in bodies(file, kind):
                answer = server.push_body(stream, body)
                total["accepted"] += answer["accepted"]
                total["rejected"] += answer["rejected"]
                sent += len(body[1])
                bar.at(min(sent, size), f"{total['accepted']:,} rows")
    return total


def format_of(file: Path, format: str | None) -> str:
    """What the rows of a file are: as an option says, or by its suffix.

    >>> format_of(Path("rows.csv.gz"), None), format_of(Path("-"), None), format_of(Path("x"), "arrow")
    ('csv', 'jsonl', 'arrow')
    """
    if format is not None:
        if format not in FORMATS:
            raise unknown("format", format, FORMATS, where="--format")
        return format
    if file == STDIN:
        return "jsonl"
    suffix = (file.with_suffix("") if file.suffix == ".gz" else file).suffix.lower()
    if suffix not in SUFFIXES:
        raise HeadgateError(f"nobody knows what is in '{file}'", hint="add --format jsonl, csv, parquet or arrow")
    return SUFFIXES[suffix]


def bodies(file: Path, kind: str) -> Iterator[Body]:
    """The bodies of requests for the rows of one file."""
    from headgate.client.rows import LINES, joined

    if kind in ("parquet", "arrow"):
        yield from _columnar(file, kind)
        return
    with _opened(file) as lines:
        if kind == "jsonl":
            yield from joined((line for line in lines if line.strip()), LINES, part=PART)
        else:
            header = next(lines, b"")
            yield from joined(_records(lines), CSV, _ended(header), part=PART)


def _records(lines: Iterator[bytes]) -> Iterator[bytes]:
    r"""The records of CSV: a quoted value may go over several lines.

    >>> list(_records(iter([b'1,"a\n', b'b"\n', b"2,c"])))
    [b'1,"a\nb"\n', b'2,c\n']
    """
    record = b""
    for line in lines:
        record += line
        if record.count(b'"') % 2 == 0:
            yield _ended(record)
            record = b""
    if record:
        yield _ended(record)


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def _opened(file: Path) -> IO[bytes]:
    if file == STDIN:
        return sys.stdin.buffer
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")  # type: ignore[return-value]


def _columnar(file: Path, kind: str) -> Iterator[Body]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headgate.client.rows import arrow_bodies

    try:
        source: Any = pa.BufferReader(sys.stdin.buffer.read()) if file == STDIN else str(file)
        if kind == "parquet":  # Spark writes INT96, which Arrow would read as nanoseconds
            batches = pq.ParquetFile(source, coerce_int96_timestamp_unit="us").iter_batches()
        else:
            batches = _arrow_batches(source)
        for batch in batches:
            yield from arrow_bodies(pa.Table.from_batches([batch]))
    except pa.ArrowException as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise HeadgateError(f"'{file}' is not {kind}: {line}", hint="check the file, or say --format") from None


def _arrow_batches(source: Any) -> Iterator[Any]:
    """The batches of an Arrow file, or of an Arrow stream in a file."""
    import pyarrow as pa

    opened = pa.memory_map(source) if isinstance(source, str) else source
    try:
        reader = pa.ipc.open_file(opened)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    except pa.ArrowInvalid:
        opened.seek(0)
        batches = iter(pa.ipc.open_stream(opened))
    return batches
