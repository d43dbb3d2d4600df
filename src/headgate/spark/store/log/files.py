"""The files of one stream's log, in the folder `streams/NAME` of the data directory.

    stream.json             the stream's columns and settings, with which the log was created
    NUMBER.tail             a frame file with the newest appends, one frame each; NUMBER is that of its first append
    A-B-CRC.parquet         a sealed log segment: the appends A to B
    dropped.json            what retention has removed, and what must be remembered of it

For example, a log of 600 appends of which the first 250 were removed and the next 250 sealed (numbers have 20 digits):

    dropped.json   251-500-1c291ca3.parquet   501.tail

*Sealing* writes the Parquet file, then a new tail, then removes the old tail. So a tail whose first append is in a
sealed file was left by a crash, and is removed. *Retention* writes `dropped.json`, then removes files. So sealed files
with appends before that were left by a crash, and are removed. A gap between the files is damage, and the log is
refused.
"""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.model import ConflictError, EventTime, HeadgateError, Stream
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import read_json, remove_temporary, sync_folder, write_json
from headgate.spark.store.frame_file import FrameFile
from headgate.spark.store.log import segments
from headgate.spark.store.log.late_rows import Rejected, highest
from headgate.spark.store.log.segments import LogSegment

REMEMBERED = 1000  # batch ids of dropped log segments
AGAIN = "file "  # begins ids of batches that come again after each restart, so that they are remembered beyond that


Times = Mapping[str, int]  # event times by column, in microseconds


def may_hold(latest: Times, lows: Mapping[str, EventTime]) -> bool:
    """Whether, among rows with these latest event times, one may have at least the time `lows` in each column."""
    return all(name in latest and latest[name] >= low for name, low in lows.items())


@dataclass(frozen=True, slots=True)
class Dropped:
    """What must be remembered of the log segments that retention has removed."""

    number: int = 1  # the first append that is still there
    start: int = 0  # the first offset that is still there
    high: int | None = None  # the largest event time: it still counts for the frontier
    finish: int | None = None  # the offset of the stream's end
    batches: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # those that must not come twice
    latest: tuple[tuple[int, Times], ...] = ()  # (end, latest event times) of segments that no later segment covers

    def after(
        self, gone: Sequence[LogSegment], times: Sequence[Times], again: Callable[[str], bool] = lambda batch: False
    ) -> Dropped:
        """The same with more log segments removed; `times` are the latest event times of each.

        `again` tells of the id of a batch whether it may come again although many others have come since.

        >>> first, second = LogSegment(1, 1, first=0, end=5, rows=5), LogSegment(2, 2, first=5, end=9, rows=4)
        >>> both = Dropped().after([first, second], [{"ts": 30}, {"ts": 20}])
        >>> both.start, both.high, both.latest
        (9, None, ((5, {'ts': 30}), (9, {'ts': 20})))
        >>> both.after([LogSegment(3, 3, first=9, end=12, rows=3)], [{"ts": 40}]).latest
        ((12, {'ts': 40}),)
        """
        high, finish, batches = self.high, self.finish, dict(self.batches)
        latest = list(self.latest)
        for segment, segment_times in zip(gone, times, strict=True):
            if segment.rows:
                latest = [(end, earlier) for end, earlier in latest if not _covers(segment_times, earlier)]
                latest.append((segment.end, segment_times))
            high = highest(high, segment.high)
            finish = segment.finish if finish is None else finish
            batches.update(segment.batches)
        for batch in list(batches)[:-REMEMBERED]:
            if not again(batch):
                del batches[batch]
        return Dropped(gone[-1].last_number + 1, gone[-1].end, high, finish, batches, tuple(latest))

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        """Whether rows from an offset on were removed that may have at least these event times.

        >>> gone = Dropped(number=3, start=9, latest=((5, {"ts": 30}), (9, {"ts": 20})))
        >>> gone.misses(0, {"ts": 25}), gone.misses(5, {"ts": 25}), gone.misses(5, {}), gone.misses(9, {})
        (True, False, True, False)
        """
        return any(end > first and may_hold(times, lows) for end, times in self.latest)


Newest = tuple[LogSegment, pa.Table, Rejected]  # the newest append, with its rows and rejected rows


@dataclass(slots=True)
class Files:
    """What a log's folder has: its log segments in order, the open tail, and the newest append with its rows."""

    dropped: Dropped
    segments: list[LogSegment]
    tail: FrameFile
    newest: Newest | None


def create(folder: Path, stream: Stream, schema: pa.Schema) -> None:
    """Create a log; `stream.json` is written last, so a folder that has it is complete."""
    disk.make_folder(folder)
    remove_temporary(folder)
    new_tail(folder, 1).close()
    arrow = base64.b64encode(schema.serialize()).decode("ascii")
    write_json(folder / "stream.json", {**identity_of(stream, schema), "arrow": arrow, "ahead": _finite(stream.ahead)})


def check_empty(folder: Path) -> None:
    """Refuse to make a log where there is one: a folder with rows has lost its `stream.json`."""
    tails = [path for path in folder.glob("*.tail") if path.name != _tail_path(folder, 1).name or path.stat().st_size]
    if tails or (folder / "dropped.json").exists() or any(folder.glob("*.parquet")):
        raise HeadgateError("it is missing", where=str(folder / "stream.json"), hint="restore it from a copy")


def stored(folder: Path) -> tuple[Stream, pa.Schema]:
    """The stream for which a log was created, and its columns: enough to open the log without a workload."""
    file = folder / "stream.json"
    identity = read_json(file)
    if "arrow" not in identity:
        raise HeadgateError(
            f"the log of stream '{identity.get('name')}' was made before logs kept their columns' types",
            where=str(file),
            hint="use it in a session that declares the stream",
        )
    ahead = identity.get("ahead")  # version 1 had no bound
    stream = Stream(
        name=identity["name"],
        event_time=identity["event_time"],
        watermark=identity["watermark"],
        ahead=math.inf if ahead is None else ahead,
    )
    return stream, pa.ipc.read_schema(pa.py_buffer(base64.b64decode(identity["arrow"])))


def identity_of(stream: Stream, schema: pa.Schema) -> dict[str, Any]:
    """What must not change while a log exists; with a larger watermark, for example, windows would close twice."""
    return {
        "name": stream.name,
        "columns": [[column.name, str(column.type)] for column in schema],
        "event_time": stream.event_time,
        "watermark": stream.watermark,
    }


def check_identity(folder: Path, stream: Stream, schema: pa.Schema) -> None:
    """Refuse a stream for which the log was not created; only `ahead` may change, and is then stored."""
    file = folder / "stream.json"
    check_stored(folder, stream, schema)
    before = read_json(file)
    if before.get("ahead", "") != _finite(stream.ahead):
        write_json(file, {**before, "ahead": _finite(stream.ahead)})


def check_stored(folder: Path, stream: Stream, schema: pa.Schema) -> None:
    """Refuse a stream for which the log in a folder was not created; a folder without a log will do."""
    file = folder / "stream.json"
    if not file.is_file():
        return
    before, now = read_json(file), identity_of(stream, schema)
    for key in now:
        if now[key] != before.get(key):
            raise ConflictError(
                f"stream '{stream.name}' was stored with {key} {before.get(key)}, now it has {now[key]}",
                where=str(file),
                hint="give it another name, or choose a new data directory",
            )


def _finite(ahead: float) -> float | None:
    return None if ahead == math.inf else ahead


def scan(folder: Path) -> Files:
    """Read a log's folder: remove what a crash has left of sealing and retention, and refuse damage."""
    remove_temporary(folder)
    dropped = _dropped(folder)
    in_order = []
    for segment in segments.sealed(folder):
        if segment.number < dropped.number and segment.path is not None:
            disk.unlink(segment.path)
        else:
            in_order.append(segment)
    following = in_order[-1].last_number + 1 if in_order else dropped.number
    tail, newest = _tail(folder, in_order, following)
    _check_holes(folder, dropped, in_order)
    return Files(dropped, in_order, tail, newest)


def new_tail(folder: Path, number: int) -> FrameFile:
    """An empty tail whose first append has that number."""
    path = _tail_path(folder, number)
    os.close(disk.open(path, os.O_WRONLY | os.O_CREAT))
    sync_folder(folder)
    return FrameFile(path, point="log.append")


def save_dropped(folder: Path, dropped: Dropped) -> None:
    """Write `dropped.json` durably; only then may files be removed."""
    write_json(folder / "dropped.json", asdict(dropped))


def _dropped(folder: Path) -> Dropped:
    file = folder / "dropped.json"
    if not file.exists():
        return Dropped()
    fields = read_json(file)
    fields["batches"] = {batch: (first, last) for batch, (first, last) in fields["batches"].items()}
    fields["latest"] = tuple((end, times) for end, times in fields.get("latest", ()))  # earlier versions had none
    return Dropped(**fields)


def _covers(later: Times, earlier: Times) -> bool:
    """Whether `misses` is true of the later segment whenever it is true of the earlier one."""
    return may_hold(later, earlier)


def _tail_path(folder: Path, number: int) -> Path:
    return folder / f"{number:020}.tail"


def _tail(folder: Path, in_order: list[LogSegment], following: int) -> tuple[FrameFile, Newest | None]:
    """Open the tail whose first append is `following`, and add its appends to `in_order`.

    Older tails were left by a crash while they were sealed.
    """
    older = [path for path in folder.glob("*.tail") if int(path.stem) < following]
    path = _tail_path(folder, following)
    if not path.exists():
        if not older:
            raise _missing(folder, following)
        new_tail(folder, following).close()
    for leftover in older:
        disk.unlink(leftover)
    file = FrameFile(path, point="log.append")
    newest: Newest | None = None
    for location in file.frames:
        newest = segments.decode(file.read(location), file, location)
        in_order.append(newest[0])
    return file, newest


def _missing(folder: Path, following: int) -> HeadgateError:
    """The error for a tail that is not there; if there is a later one, a sealed file before that is missing."""
    later = sorted(int(path.stem) for path in folder.glob("*.tail"))
    if not later:
        what, where = "the newest part of the log is missing", _tail_path(folder, following)
        return HeadgateError(what, where=str(where), hint="restore it from a copy")
    what = f"the log has a hole: the sealed file with the appends {following} to {later[0] - 1} is missing"
    return HeadgateError(what, where=str(folder), hint="restore it from a copy")


def _check_holes(folder: Path, dropped: Dropped, in_order: Sequence[LogSegment]) -> None:
    number, offset = dropped.number, dropped.start
    for segment in in_order:
        if (segment.number, segment.first) != (number, offset):
            raise HeadgateError(
                f"the log has a hole: append {number} (offset {offset}) is missing, append {segment.number} is there",
                where=str(folder),
                hint="restore the missing file from a copy",
            )
        number, offset = segment.last_number + 1, segment.end
