"""An append-only file of checksummed frames: what the stream log's tail and the commit log are made of.

A frame is

    "HGf1"  length (8 bytes)  crc32 of these twelve (4)     payload     crc32 of the payload (4)  "HGe1"

all numbers little-endian. It is written with one write and one fsync, and is acknowledged after them. The header has
a checksum of its own so that a torn frame can be told from a damaged one:

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.files import damaged, disk_error
from headgate.spark.store.killpoints import at

_HEADER = struct.Struct("<4sQI")
_TRAILER = struct.Struct("<I4s")
_BEGIN, _END = b"HGf1", b"HGe1"


class Place(NamedTuple):
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

    def append(self, payload: bytes) -> Place:
        """Add a frame; it is durable on return."""
        with self._held():
            return self._append(payload)

    def _append(self, payload: bytes) -> Place:
        self._refuse_after_failure()
        data, position = frame(payload), self.size
        at(f"{self._point}.before")
        try:
            at(f"{self._point}.half", first=lambda: self._write(data[: len(data) // 2], position))
            self._write(data, position)
            at(f"{self._point}.written")
            disk.fsync(self._descriptor)
        except OSError as error:
            self.refuse()
            raise disk_error(error, self.path) from error
        at(f"{self._point}.after")
        self.size = position + len(data)
        self.places.append(Place(position + _HEADER.size, len(payload)))
        return self.places[-1]

    def read(self, place: Place) -> bytes:
        """The payload at a place, checked again."""
        with self._held():
            data = self._read(place.position, place.length + _TRAILER.size)
        if len(data) < _TRAILER.size or _TRAILER.unpack(data[-_TRAILER.size :]) != (
            zlib.crc32(memoryview(data)[: -_TRAILER.size]),
            _END,
        ):
            raise damaged(self.path, f"the record at byte {place.position - _HEADER.size}")
        return data[: -_TRAILER.size]

    def raw(self, place: Place) -> bytes:
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

    def _read(self, position: int, length: int) -> bytes:
        data = os.pread(self._descriptor, length, position)
        while len(data) < length and (more := os.pread(self._descriptor, length - len(data), position + len(data))):
            data += more  # one call reads at most 2 GiB
        return data

    def _refuse_after_failure(self) -> None:
        if self._failed:
            raise HeadgateError(
                "an earlier write failed, nothing more is accepted", where=str(self.path), hint="start again"
            )

    def _scan(self) -> tuple[list[Place], int]:
        """All complete frames; a torn one at the end is cut off."""
        size = os.fstat(self._descriptor).st_size
        places: list[Place] = []
        end = 0
        while end < size:
            place = self._place(end, size)
            if place is None:
                disk.truncate(self._descriptor, end)
                disk.fsync(self._descriptor)
                break
            self.read(place)
            places.append(place)
            end = place.position + place.length + _TRAILER.size
        return places, end

    def _secure_newest(self) -> None:
        """Write the newest frame again: its writer may have died before its fsync, or that may have failed.

        Whoever reads it builds on it. After an fsync that failed the system takes the bytes for written, and another
        fsync alone would do nothing.
        """
        if self.places:
            try:
                self._write(self.raw(self.places[-1]), self.places[-1].position - _HEADER.size)
                disk.fsync(self._descriptor)
            except OSError as error:
                raise disk_error(error, self.path) from error

    def _place(self, start: int, size: int) -> Place | None:
        """The frame that begins here, None if it is torn."""
        header = os.pread(self._descriptor, _HEADER.size, start)
        if len(header) < _HEADER.size or (not any(header) and self._zeros(start, size)):
            return None
        begin, length, checksum = _HEADER.unpack(header)
        if begin != _BEGIN or checksum != zlib.crc32(header[:-4]):
            raise damaged(self.path, f"the record at byte {start}")
        place = Place(start + _HEADER.size, length)
        trailer = place.position + length
        if trailer + _TRAILER.size > size or self._zeros(trailer, size):
            return None
        return place

    def _zeros(self, start: int, size: int) -> bool:
        while start < size:
            piece = os.pread(self._descriptor, 1 << 20, start)
            if any(piece):
                return False
            start += len(piece)
        return True
