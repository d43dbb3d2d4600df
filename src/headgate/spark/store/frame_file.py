"""A frame file: an append-only file of records with checksums, used for the tail of a stream log and the commit log.

A record is stored as a *frame* (all numbers are little-endian):

    header     "HGf1", length of the payload (8 bytes), crc32 of these twelve bytes (4)
    payload
    trailer    crc32 of the payload (4 bytes), "HGe1"

For example, the payload `one` becomes a frame of 16 + 3 + 8 bytes:

    48 47 66 31  03 00 00 00 00 00 00 00  48 ac f5 d9 | 6f 6e 65 | f1 86 6c 7a  48 47 65 31

*Writing.* One frame, or a group of them, is written with one write and one fsync, and only then acknowledged. If the
disk refuses, the group is cut off again, and the file is as it was before. If the process dies, complete frames at the
beginning of the group stay and count, although nobody has acknowledged them: each frame makes sense without the others.

*Opening.* The header has its own checksum, so a torn frame and a damaged one can be distinguished:

* Torn: the file ends before the frame does. The writer died before it could acknowledge it, so the frame is cut off.
  The same holds if the file ends in zeros from the frame's trailer on, which some file systems leave after a power cut.
* Damaged: a checksum does not match. Acknowledged bytes have changed, so the file is refused with its name; nothing
  behind the damage is read.
"""

from __future__ import annotations

import os
import struct
import threading
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import damaged, disk_error
from headgate.spark.store.kill_points import at

_HEADER = struct.Struct("<4sQI")
_TRAILER = struct.Struct("<I4s")
_BEGIN, _END = b"HGf1", b"HGe1"
GROUP = 64  # the most frames that share an fsync


class FrameLocation(NamedTuple):
    """Where in its file the payload of a frame begins, and how long it is."""

    start: int
    length: int


def frame(payload: bytes) -> bytes:
    """The payload with its header and trailer.

    >>> frame(b"one").hex(" ")
    '48 47 66 31 03 00 00 00 00 00 00 00 48 ac f5 d9 6f 6e 65 f1 86 6c 7a 48 47 65 31'
    """
    start = struct.pack("<4sQ", _BEGIN, len(payload))
    return b"".join(
        (start, struct.pack("<I", zlib.crc32(start)), payload, _TRAILER.pack(zlib.crc32(payload), _END)),
    )


class FrameFile:
    """An open frame file, to which one thread appends and from which several may read.

    If its name is removed, those who have it open can still read it. The descriptor is closed only when no append or
    read is under way: afterwards its number may belong to any other file of the program.
    """

    def __init__(self, path: Path, *, point: str) -> None:
        self.path = path
        self._point = point
        self._failed = False
        self._descriptor = disk.open(path, os.O_RDWR)
        self._release = weakref.finalize(self, os.close, self._descriptor)
        self._holding = threading.Lock()
        self._holders, self._closed = 0, False
        self.frames, self.size = self._scan()
        self._secure_newest()

    def close(self) -> None:
        """Accept no more appends and reads; the descriptor is closed when those under way have ended."""
        with self._holding:
            self._closed = True
            self._release_if_free()

    def refuse(self) -> None:
        """Accept no more appends, because only opening the file again shows what is in it or beside it."""
        self._failed = True

    def append(self, payload: bytes) -> FrameLocation:
        """Append a frame; it is durable on return."""
        return self.append_all([payload])[0]

    def append_all(self, payloads: Sequence[bytes]) -> list[FrameLocation]:
        """Append frames with one write and one fsync: all are durable on return, none is there after an error."""
        if not payloads:
            return []
        with self._held():
            return self._append_all([frame(payload) for payload in payloads])

    def _append_all(self, frames: list[bytes]) -> list[FrameLocation]:
        self._refuse_after_failure()
        try:
            self._write_group(frames)
        except OSError as error:
            self._cut_back()
            raise disk_error(error, self.path) from error
        added = []
        for written in frames:
            added.append(FrameLocation(self.size + _HEADER.size, len(written) - _HEADER.size - _TRAILER.size))
            self.size += len(written)
        self.frames += added
        return added

    def _write_group(self, frames: list[bytes]) -> None:
        data, position = b"".join(frames), self.size
        at(f"{self._point}.before")
        at(f"{self._point}.half", first=lambda: self._write(data[: len(data) // 2], position))
        if len(frames) > 1:
            half_of_last = len(data) - len(frames[-1]) + len(frames[-1]) // 2
            at(f"{self._point}.between", first=lambda: self._write(data[:half_of_last], position))
        self._write(data, position)
        at(f"{self._point}.written")
        disk.fsync(self._descriptor)
        at(f"{self._point}.after")

    def _cut_back(self) -> None:
        """Remove what a failed write has left after the last frame."""
        try:
            disk.truncate(self._descriptor, self.size)
            disk.fsync(self._descriptor)
        except OSError:
            self.refuse()

    def read(self, location: FrameLocation) -> bytes:
        """The payload at a location; its checksum is compared each time."""
        with self._held():
            return _payload(self._descriptor, self.path, location)

    def raw(self, location: FrameLocation) -> bytes:
        """The whole frame at a location, to copy it."""
        return frame(self.read(location))

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The descriptor is not closed meanwhile."""
        with self._holding:
            if self._closed:
                raise HeadgateError("the file is closed", where=str(self.path), hint="open the directory again")
            self._holders += 1
        try:
            yield
        finally:
            with self._holding:
                self._holders -= 1
                self._release_if_free()

    def _release_if_free(self) -> None:
        if self._closed and not self._holders:
            self._release()
            self._descriptor = -1

    def _write(self, data: bytes, position: int) -> None:
        disk.write_all(self._descriptor, data, position)

    def _refuse_after_failure(self) -> None:
        if self._failed:
            raise HeadgateError(
                "an earlier write failed and could not be undone, nothing more is accepted",
                where=str(self.path),
                hint="look at the disk, then start again",
            )

    def _scan(self) -> tuple[list[FrameLocation], int]:
        """All complete frames; a torn one at the end is cut off."""
        locations, end = [], 0
        for location in _whole_frames(self._descriptor, self.path):
            self.read(location)
            locations.append(location)
            end = location.start + location.length + _TRAILER.size
        if end < os.fstat(self._descriptor).st_size:
            disk.truncate(self._descriptor, end)
            disk.fsync(self._descriptor)
        return locations, end

    def _secure_newest(self) -> None:
        """Write the newest frames again and force them to disk, since from now on others rely on them.

        Their writer may have died before its fsync, or the fsync may have failed. After a failed fsync the operating
        system regards the bytes as written, so another fsync alone would do nothing. One fsync is for `GROUP` frames
        at most, so older frames are durable.
        """
        newest = self.frames[-GROUP:]
        if newest:
            try:
                self._write(b"".join(map(self.raw, newest)), newest[0].start - _HEADER.size)
                disk.fsync(self._descriptor)
            except OSError as error:
                raise disk_error(error, self.path) from error


def read_frames(path: Path) -> Iterator[bytes]:
    """The payloads of a file to which another process may be appending, up to the end or to a torn frame.

    The file is not changed. Frames can be read a moment before they are durable, so there may be some that the writer
    cuts off again. If the file's name is removed meanwhile, reading goes on.
    """
    descriptor = disk.open(path, os.O_RDONLY)
    try:
        for location in _whole_frames(descriptor, path):
            yield _payload(descriptor, path, location)
    finally:
        os.close(descriptor)


def _whole_frames(descriptor: int, path: Path) -> Iterator[FrameLocation]:
    """The locations of the complete frames, from the beginning of a file to its end or to a torn frame."""
    size, end = os.fstat(descriptor).st_size, 0
    while end < size and (location := _locate(descriptor, path, end, size)) is not None:
        yield location
        end = location.start + location.length + _TRAILER.size


def _locate(descriptor: int, path: Path, start: int, size: int) -> FrameLocation | None:
    """The frame that begins at `start`; None if it is torn."""
    header = os.pread(descriptor, _HEADER.size, start)
    if len(header) < _HEADER.size or (not any(header) and _zeros(descriptor, start, size)):
        return None
    begin, length, checksum = _HEADER.unpack(header)
    if begin != _BEGIN or checksum != zlib.crc32(header[:-4]):
        raise damaged(path, f"the record at byte {start}")
    location = FrameLocation(start + _HEADER.size, length)
    trailer = location.start + length
    if trailer + _TRAILER.size > size or _zeros(descriptor, trailer, size):
        return None
    return location


def _payload(descriptor: int, path: Path, location: FrameLocation) -> bytes:
    data = _read(descriptor, location.start, location.length + _TRAILER.size)
    if len(data) < _TRAILER.size or _TRAILER.unpack(data[-_TRAILER.size :]) != (
        zlib.crc32(memoryview(data)[: -_TRAILER.size]),
        _END,
    ):
        raise damaged(path, f"the record at byte {location.start - _HEADER.size}")
    return data[: -_TRAILER.size]


def _read(descriptor: int, position: int, length: int) -> bytes:
    data = os.pread(descriptor, length, position)
    while len(data) < length and (more := os.pread(descriptor, length - len(data), position + len(data))):
        data += more  # one call reads at most 2 GiB
    return data


def _zeros(descriptor: int, start: int, size: int) -> bool:
    """Whether there is nothing but zeros from `start` to the end."""
    while start < size:
        chunk = os.pread(descriptor, 1 << 20, start)
        if any(chunk):
            return False
        if not chunk:  # the file has become shorter meanwhile
            return True
        start += len(chunk)
    return True
