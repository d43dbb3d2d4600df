"""Recorded arrival times in files: one number per line, a column of a table, or a packet trace of the archive."""

from __future__ import annotations

import csv
import gzip
import json
import math
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np
import numpy.typing as npt

from headgate.contained_files import open_file
from headgate.model import HeadgateError
from headgate.sim.packet_traces import PACKET_TRACES, packet_times


def recorded_times(file: Path, column: str = "arrival", within: Path | None = None) -> npt.NDArray[np.float64]:
    """The rising times of a text, CSV, TSV, JSON or Parquet file, or of a packet trace, by its suffix.

    With `within` only of a file in that folder, links followed.
    """
    try:
        state = file.stat()
        return _times(file, column, within, state.st_mtime_ns, state.st_size)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise HeadgateError(
            f"cannot read arrival times from '{file}': {error}", hint=_hint(_kind(file), column)
        ) from None


@lru_cache(maxsize=8)
def _times(file: Path, column: str, within: Path | None, changed: int, size: int) -> npt.NDArray[np.float64]:
    """The times as they were when the file last changed: a run asks for them several times."""
    times = np.sort(np.array(_read(file, column, within), dtype=np.float64))
    if len(times) and not 0.0 <= times[0] <= times[-1] < math.inf:
        raise ValueError(f"{times[0]:g} is not a time from 0 on")
    times.flags.writeable = False
    return times


def _hint(kind: str, column: str) -> str:
    if kind in PACKET_TRACES:
        return f"a packet trace '{kind}' has lines of {PACKET_TRACES[kind].says}"
    if kind == ".z":
        return "unpack it first: uncompress FILE"
    return f"give a text, CSV, JSON-lines or Parquet file with a column '{column}' of seconds"


def _kind(file: Path) -> str:
    """What kind of file it is: its suffix, before that of its compression."""
    return (Path(file.stem).suffix if file.suffix == ".gz" else file.suffix).lower()


def _text(file: Path, opened: BinaryIO) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(opened, "rt", encoding="utf-8-sig")
    return TextIOWrapper(opened, encoding="utf-8-sig")


def _read(file: Path, column: str, within: Path | None) -> list[float]:
    with file.open("rb") if within is None else open_file(file, within) as opened:
        return _read_opened(file, opened, column)


def _read_opened(file: Path, opened: BinaryIO, column: str) -> list[float]:
    kind = _kind(file)
    if kind == ".parquet":
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(opened, columns=[column])[column].to_pylist())
    if kind == ".z":
        raise ValueError("it is compressed")
    with _text(file, opened) as lines:
        if kind in PACKET_TRACES:
            return packet_times(lines, kind)
        if kind in (".csv", ".tsv"):
            rows = csv.DictReader(lines, delimiter="," if kind == ".csv" else "\t")
            return [float(row[column]) for row in rows]
        if kind == ".json" and (text := lines.read()).lstrip().startswith("["):
            return [float(record[column]) for record in json.loads(text)]
        if kind == ".json":
            return [float(json.loads(line)[column]) for line in text.splitlines() if line.strip()]
        if kind in (".jsonl", ".ndjson"):
            return [float(json.loads(line)[column]) for line in lines if line.strip()]
        return [float(line) for line in lines if line.strip()]
