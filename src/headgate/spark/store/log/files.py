"""The files of one stream's log.

    stream.json             the stream as it was when the log was made, and how far ahead its rows may be now
    NUMBER.tail             the newest appends, one frame each; NUMBER is that of its first append
    A-B-CRC.parquet         sealed: appends A to B
    dropped.json            what retention has removed, and what must be remembered of it

Sealing writes the Parquet file, then a new tail, then removes the old tail. A tail whose first append is already in a
sealed file is therefore a leftover. Retention writes `dropped.json`, then removes files: sealed ones that lie before
it are leftovers. A hole between the files is damage.
"""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.model import EventTime, HeadgateError, Stream
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import read_json, remove_temporary, sync_folder, write_json
from headgate.spark.store.frame_file import FrameFile
from headgate.spark.store.log import segments
from headgate.spark.store.log.event_time import Rejected, highest
from headgate.spark.store.log.segments import LogSegment

REMEMBERED = 1000  # batch ids of dropped segments


Times = Mapping[str, int]  # by column


def may_hold(latest: Times, lows: Mapping[str, EventTime]) -> bool:
    """Whether rows whose event times reach so far may have one with all these, or later ones."""
    return all(name in latest and latest[name] >= low for name, low in lows.items())


@dataclass(frozen=True, slots=True)
class Dropped:
    """Everything before `number` is gone; this is what still counts of it."""

    number: int = 1
    start: int = 0
    high: int | None = None
    finish: int | None = None
    batches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    latest: tuple[tuple[int, Times], ...] = ()  # (end, latest event times) of segments, but where a later one has later

    def after(self, gone: Sequence[LogSegment], times: Sequence[Times]) -> Dropped:
        """The same with more segments gone, given the latest event times in each.

        >>> first, second = LogSegment(1, 1, first=0, end=5, rows=5), LogSegment(2, 2, first=5, end=9, rows=4)
        >>> both = Dropped().after([first, second], [{"ts": 30}, {"ts": 20}])
        >>> both.start, both.high, both.latest
        (9, None, ((5, {'ts': 30}), (9, {'ts': 20})))
        >>> both.after([LogSegment(3, 3, first=9, end=12, rows=3)], [{"ts": 40}]).latest
        ((12, {'ts': 40}),)
        """
        high, finish, batches = self.high, self.finish, dict(self.batches)
        latest = list(self.latest)
        for segment, found in zip(gone, times, strict=True):
            if segment.rows:
                latest = [(end, known) for end, known in latest if not _covers(found, known)]
                latest.append((segment.end, found))
            high = highest(high, segment.high)
            finish = segment.finish if finish is None else finish
            batches.update(segment.batches)
        kept = dict(list(batches.items())[-REMEMBERED:])
        return Dropped(gone[-1].last_number + 1, gone[-1].end, high, finish, kept, tuple(latest))

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        """Whether rows from an offset on are gone that may have all these event times, or later ones.

        >>> gone = Dropped(number=3, start=9, latest=((5, {"ts": 30}), (9, {"ts": 20})))
        >>> gone.misses(0, {"ts": 25}), gone.misses(5, {"ts": 25}), gone.misses(5, {}), gone.misses(9, {})
        (True, False, True, False)
        """
        return any(end > first and may_hold(found, lows) for end, found in self.latest)


Newest = tuple[LogSegment, pa.Table, Rejected]


@dataclass(slots=True)
class Files:
    """A log's folder as found: what is in it, in order, and the newest append with its rows."""

    dropped: Dropped
    found: list[LogSegment]
    tail: FrameFile
    newest: Newest | None


def create(folder: Path, stream: Stream, schema: pa.Schema) -> None:
    """Make a new log; `stream.json` comes last and says that the rest is there."""
    disk.make_folder(folder)
    remove_temporary(folder)
    new_tail(folder, 1).close()
    arrow = base64.b64encode(schema.serialize()).decode("ascii")
    write_json(folder / "stream.json", {**identity(stream, schema), "arrow": arrow, "ahead": _finite(stream.ahead)})


def stored(folder: Path) -> tuple[Stream, pa.Schema]:
    """The stream that a log was made for, and its columns: enough to open the log without its workload."""
    file = folder / "stream.json"
    found = read_json(file)
    if "arrow" not in found:
        raise HeadgateError(
            f"the log of stream '{found.get('name')}' was made before logs kept their columns' types",
            where=str(file),
            hint="use it in a session that declares the stream",
        )
    ahead = found.get("ahead")  # version 1 had no bound
    stream = Stream(
        name=found["name"],
        event_time=found["event_time"],
        watermark=found["watermark"],
        ahead=math.inf if ahead is None else ahead,
    )
    return stream, pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["arrow"])))


def identity(stream: Stream, schema: pa.Schema) -> dict[str, Any]:
    """What must not change while a log exists; a wider watermark would close windows a second time."""
    return {
        "name": stream.name,
        "columns": [[column.name, str(column.type)] for column in schema],
        "event_time": stream.event_time,
        "watermark": stream.watermark,
    }


def check_identity(folder: Path, stream: Stream, schema: pa.Schema) -> None:
    """Refuse a stream that is not the one the log was made for; how far ahead its rows may be can change."""
    file = folder / "stream.json"
    found, asked = read_json(file), identity(stream, schema)
    for key in asked:
        if asked[key] != found.get(key):
            raise HeadgateError(
                f"stream '{stream.name}' was stored with {key} {found.get(key)}, now it has {asked[key]}",
                where=str(file),
                hint="give it another name, or choose a new data directory",
            )
    if found.get("ahead", "") != _finite(stream.ahead):
        write_json(file, {**found, "ahead": _finite(stream.ahead)})


def _finite(ahead: float) -> float | None:
    return None if ahead == math.inf else ahead


def scan(folder: Path) -> Files:
    """Read what is there, remove leftovers of interrupted work, refuse damage."""
    remove_temporary(folder)
    dropped = _dropped(folder)
    found = []
    for segment in segments.sealed(folder):
        if segment.number < dropped.number and segment.path is not None:
            disk.unlink(segment.path)
        else:
            found.append(segment)
    following = found[-1].last_number + 1 if found else dropped.number
    tail, newest = _tail(folder, found, following)
    _check_holes(folder, dropped, found)
    return Files(dropped, found, tail, newest)


def new_tail(folder: Path, number: int) -> FrameFile:
    """An empty tail whose first append has that number."""
    path = _tail_path(folder, number)
    os.close(disk.open(path, os.O_WRONLY | os.O_CREAT))
    sync_folder(folder)
    return FrameFile(path, point="log.append")


def save_dropped(folder: Path, dropped: Dropped) -> None:
    """Make it durable; only then may files go."""
    write_json(folder / "dropped.json", asdict(dropped))


def _dropped(folder: Path) -> Dropped:
    file = folder / "dropped.json"
    if not file.exists():
        return Dropped()
    told = read_json(file)
    told["batches"] = {batch: (first, last) for batch, (first, last) in told["batches"].items()}
    told["latest"] = tuple((end, found) for end, found in told.get("latest", ()))  # not told before there was a check
    return Dropped(**told)


def _covers(later: Times, earlier: Times) -> bool:
    """Whether what is missed of the earlier rows is missed of the later ones anyway."""
    return may_hold(later, earlier)


def _tail_path(folder: Path, number: int) -> Path:
    return folder / f"{number:020}.tail"


def _tail(folder: Path, found: list[LogSegment], following: int) -> tuple[FrameFile, Newest | None]:
    """The tail after the sealed segments, its appends added to `found`; older tails are leftovers of sealing."""
    older = [path for path in folder.glob("*.tail") if int(path.stem) < following]
    path = _tail_path(folder, following)
    if not path.exists():
        if not older:
            raise HeadgateError("the newest part of the log is missing", where=str(path), hint="restore it from a copy")
        new_tail(folder, following).close()
    for leftover in older:
        disk.unlink(leftover)
    file = FrameFile(path, point="log.append")
    newest: Newest | None = None
    for place in file.places:
        newest = segments.decode(file.read(place), file, place)
        found.append(newest[0])
    return file, newest


def _check_holes(folder: Path, dropped: Dropped, found: Sequence[LogSegment]) -> None:
    number, offset = dropped.number, dropped.start
    for segment in found:
        if (segment.number, segment.first) != (number, offset):
            raise HeadgateError(
                f"the log has a hole: append {number} (offset {offset}) is missing, append {segment.number} is there",
                where=str(folder),
                hint="restore the missing file from a copy",
            )
        number, offset = segment.last_number + 1, segment.end
