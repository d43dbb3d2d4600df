"""Directories of older formats: what their catalog would be, from what they have.

Formats 1 and 2 kept the log and the columns of each stream, and of each query its SQL, its class and its sink. They did
not keep where streams are read, the priorities of classes, nor tables: entries made here lack that. So a stream is
not read, a class has priority 1 and a query waits for its tables, until they are declared again.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pyspark.sql.pandas.types import from_arrow_type

from headgate.model import HeadgateError
from headgate.spark.store.atomic_files import read_json
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, CommittedState
from headgate.spark.store.log import files


def write_catalog(streams: Path, commits: Path) -> None:
    """Commit the catalog of a directory that has none; doing it twice changes nothing."""
    log = CommitLog(commits)
    try:
        log.append(Commit(catalog=former_catalog(streams, log.state)))
    finally:
        log.close()


def former_catalog(streams: Path, state: CommittedState) -> dict[str, dict[str, Any]]:
    """The catalog of a directory that has none: its streams, and the classes of its queries."""
    classes: dict[str, Any] = {str(query["class"]): {} for query in state.queries.values() if "class" in query}
    return {"streams": _stream_entries(streams), "classes": classes}


def _stream_entries(streams: Path) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for folder in sorted(path for path in streams.iterdir() if (path / "stream.json").is_file()):
        try:
            stream, schema = files.stored(folder)
        except HeadgateError:  # an early directory that did not keep the types: its streams must be declared again
            continue
        entries[stream.name] = {
            "schema": [[column.name, from_arrow_type(column.type).simpleString()] for column in schema],
            "event_time": stream.event_time,
            "watermark": stream.watermark,
        }
        if "ahead" in read_json(folder / "stream.json"):  # format 1 had no bound
            entries[stream.name]["ahead"] = None if stream.ahead == math.inf else stream.ahead
    return entries
