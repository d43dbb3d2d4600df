"""An append-only file of checksummed frames: what the stream log's tail and the commit log are made of.

A frame is

    "HGf1"  length (8 bytes)  crc32 of these twelve (4)     payload     crc32 of the payload (4)  "HGe1"

all numbers little-endian. One frame or a group of them is written with one write and one fsync, and is acknowledged
after them. If the disk refuses, what was written of the group is cut off again, so the file is as it was before. If the
process dies instead, the whole frames at the beginning of the group stay and count, though nobody was told so: each of
them says all that it has to say. The header has a checksum of its own so that a torn frame can be told from a damaged
one:

* fewer bytes than the header says, or fewer than a header: the writer died before it could acknowledge. The frame is
  cut off. So is one whose end is zeros up to the end of the file, which some file systems leave after a power cut.
* a checksum that does not match: somebody changed acknowledged bytes. The file is refused by name, never read around.
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
GROUP = 64  # frames that share an fsync at most


class FramePosition(NamedTuple):
    """Where a frame's payload lies in its file."""

    position: int
    length: int


def frame(payload: bytes) -> bytes:
    """The payload with its header and trailer."""
    start = struct.pack("<4sQ", _BEGIN, len(payload))
    return b"".join(
        (start, struct.pack("<I", zlib.crc32(start)), payload, _TRAILER.pack(zlib.crc32(payload), _END)),
    )


class FrameFile:
    """One such file, open for appending and for reading from several threads.

    It stays readable for those who hold it when its name is removed, and closes with the last of them. Who appends or
    reads holds the descriptor: once it is closed, its number may be that of any other file of the program.
    """

    def __init__(self, path: Path, *, point: str) -> None:
        self.path = path
        self._point = point
        self._failed = False
        self._descriptor = disk.open(path, os.O_RDWR)
        self._release = weakref.finalize(self, os.close, self._descriptor)
        self._holding = threading.Lock()
        self._holders, self._closed = 0, False
        self.places, self.size = self._scan()
        self._secure_newest()

    def close(self) -> None:
        """Nothing more is written or read; the file is let go of when those who are at it have done."""
        with self._holding:
            self._closed = True
            self._release_if_free()

    def refuse(self) -> None:
        """Accept nothing more: what is in the file, or beside it, is known only after it is opened anew."""
        self._failed = True

    def append(self, payload: bytes) -> FramePosition:
        """Add a frame; it is durable on return."""
        return self.append_all([payload])[0]

    def append_all(self, payloads: Sequence[bytes]) -> list[FramePosition]:
        """Add frames with one write and one fsync: all of them are durable on return, none is there after an error."""
        if not payloads:
            return []
        with self._held():
            return self._append_all([frame(payload) for payload in payloads])

    def _append_all(self, frames: list[bytes]) -> list[FramePosition]:
        self._refuse_after_failure()
        try:
            self._write_group(frames)
        except OSError as error:
            self._cut_back()
            raise disk_error(error, self.path) from error
        added = []
        for each in frames:
            added.append(FramePosition(self.size + _HEADER.size, len(each) - _HEADER.size - _TRAILER.size))
            self.size += len(each)
        self.places += added
        return added

    def _write_group(self, frames: list[bytes]) -> None:
        data, position = b"".join(frames), self.size
        at(f"{self._point}.before")
        at(f"{self._point}.half", first=lambda: self._write(data[: len(data) // 2], position))
        if len(frames) > 1:
            whole = len(data) - len(frames[-1])
            at(f"{self._point}.between", first=lambda: self._write(data[: whole + len(frames[-1]) // 2], position))
        self._write(data, position)
        at(f"{self._point}.written")
        disk.fsync(self._descriptor)
        at(f"{self._point}.after")

    def _cut_back(self) -> None:
        """Remove what a failed write has left behind its last frame."""
        try:
            disk.truncate(self._descriptor, self.size)
            disk.fsync(self._descriptor)
        except OSError:
            self.refuse()

    def read(self, place: FramePosition) -> bytes:
        """The payload at a place, checked again."""
        with self._held():
            return _payload(self._descriptor, self.path, place)

    def raw(self, place: FramePosition) -> bytes:
        """The whole frame at a place, to copy it."""
        return frame(self.read(place))

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The descriptor is ours meanwhile."""
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

    def _scan(self) -> tuple[list[FramePosition], int]:
        """All complete frames; a torn one at the end is cut off."""
        places, end = [], 0
        for place in _whole_frames(self._descriptor, self.path):
            self.read(place)
            places.append(place)
            end = place.position + place.length + _TRAILER.size
        if end < os.fstat(self._descriptor).st_size:
            disk.truncate(self._descriptor, end)
            disk.fsync(self._descriptor)
        return places, end

    def _secure_newest(self) -> None:
        """Write the newest frames again: their writer may have died before its fsync, or that may have failed.

        Whoever reads them builds on them. After an fsync that failed the system takes the bytes for written, and
        another fsync alone would do nothing. One fsync makes no more than `GROUP` frames durable.
        """
        newest = self.places[-GROUP:]
        if newest:
            try:
                self._write(b"".join(map(self.raw, newest)), newest[0].position - _HEADER.size)
                disk.fsync(self._descriptor)
            except OSError as error:
                raise disk_error(error, self.path) from error


def read_frames(path: Path) -> Iterator[bytes]:
    """The payloads of a file that another process may be appending to; nothing is changed, a torn frame ends it.

    Frames are there for a moment before they are durable, so this may see some that the writer is about to cut off.
    The file stays readable while it is read, also if its name is removed.
    """
    descriptor = disk.open(path, os.O_RDONLY)
    try:
        for place in _whole_frames(descriptor, path):
            yield _payload(descriptor, path, place)
    finally:
        os.close(descriptor)


def _whole_frames(descriptor: int, path: Path) -> Iterator[FramePosition]:
    """The places of complete frames from the beginning of a file to its end or to a torn frame."""
    size, end = os.fstat(descriptor).st_size, 0
    while end < size and (place := _place(descriptor, path, end, size)) is not None:
        yield place
        end = place.position + place.length + _TRAILER.size


def _place(descriptor: int, path: Path, start: int, size: int) -> FramePosition | None:
    """The frame that begins here, None if it is torn."""
    header = os.pread(descriptor, _HEADER.size, start)
    if len(header) < _HEADER.size or (not any(header) and _zeros(descriptor, start, size)):
        return None
    begin, length, checksum = _HEADER.unpack(header)
    if begin != _BEGIN or checksum != zlib.crc32(header[:-4]):
        raise damaged(path, f"the record at byte {start}")
    place = FramePosition(start + _HEADER.size, length)
    trailer = place.position + length
    if trailer + _TRAILER.size > size or _zeros(descriptor, trailer, size):
        return None
    return place


def _payload(descriptor: int, path: Path, place: FramePosition) -> bytes:
    data = _read(descriptor, place.position, place.length + _TRAILER.size)
    if len(data) < _TRAILER.size or _TRAILER.unpack(data[-_TRAILER.size :]) != (
        zlib.crc32(memoryview(data)[: -_TRAILER.size]),
        _END,
    ):
        raise damaged(path, f"the record at byte {place.position - _HEADER.size}")
    return data[: -_TRAILER.size]


def _read(descriptor: int, position: int, length: int) -> bytes:
    data = os.pread(descriptor, length, position)
    while len(data) < length and (more := os.pread(descriptor, length - len(data), position + len(data))):
        data += more  # one call reads at most 2 GiB
    return data


def _zeros(descriptor: int, start: int, size: int) -> bool:
    """Whether there is nothing but zeros from here to the end."""
    while start < size:
        fragment = os.pread(descriptor, 1 << 20, start)
        if any(fragment):
            return False
        if not fragment:  # the file has become shorter meanwhile
            return True
        start += len(fragment)
    return True
