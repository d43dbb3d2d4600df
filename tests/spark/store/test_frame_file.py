"""Closing a frame file: afterwards it never touches its descriptor, whose number may belong to another file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.spark.store.frame_file import FrameFile


@pytest.fixture
def file(tmp_path: Path) -> FrameFile:
    (tmp_path / "frames").touch()
    return FrameFile(tmp_path / "frames", point="log.append")


def test_a_closed_file_refuses_and_leaves_others_alone(file: FrameFile, tmp_path: Path) -> None:
    location = file.append(b"one")
    file.close()
    file.close()
    victims = [os.open(tmp_path / f"victim{n}", os.O_RDWR | os.O_CREAT) for n in range(20)]  # one has its descriptor
    for act in (lambda: file.append(b"two"), lambda: file.read(location), lambda: file.raw(location)):
        with pytest.raises(HeadgateError, match="the file is closed"):
            act()
    for number, victim in enumerate(victims):
        os.close(victim)
        assert (tmp_path / f"victim{number}").read_bytes() == b""
    again = FrameFile(tmp_path / "frames", point="log.append")
    assert [again.read(location) for location in again.frames] == [b"one"]


def test_an_append_under_way_ends_before_the_file_is_let_go(file: FrameFile, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    sync = os.fsync

    def slow(descriptor: int) -> None:
        begun.set()
        assert go.wait(30)
        sync(descriptor)  # fails if it has been closed

    monkeypatch.setattr(os, "fsync", slow)
    locations: list[object] = []
    thread = threading.Thread(target=lambda: locations.append(file.append(b"one")))
    thread.start()
    assert begun.wait(30)
    file.close()
    go.set()
    thread.join(30)
    assert len(locations) == 1
    with pytest.raises(HeadgateError, match="the file is closed"):
        file.append(b"two")
