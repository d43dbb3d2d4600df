"""Whether a disk is full: told when a write was refused, and until the disk takes writes again."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from headgate.model.errors import DiskError
from headgate.spark.store import disk, disk_watch
from headgate.spark.store.atomic_files import write_atomic
from headgate.spark.store.disk_watch import TOLD, DiskWatch


class FullDisk(disk.Disk):
    """Takes nothing."""

    def write(self, descriptor: int, data: object, position: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return now[0]

    monkeypatch.setattr(disk_watch, "time", Time)
    monkeypatch.setattr(disk_watch, "_refusals", type(disk_watch._refusals)(maxlen=100))
    return now


def test_a_full_disk_is_told_until_it_takes_writes_again(tmp_path: Path, clock: list[float]) -> None:
    watch = DiskWatch(tmp_path)
    found = watch.look()
    assert (found.full, found.error) == (False, "")
    assert found.free is not None
    assert found.free > 0
    with disk.use(FullDisk()):
        with pytest.raises(DiskError, match="No space left"):
            write_atomic(tmp_path / "costs.json", b"{}")
        assert watch.look() is found  # not asked again at once
        clock[0] += disk_watch.SERVES
        full = watch.look()
        assert full.full
        assert full.error.endswith("costs.json: cannot write: No space left on device")
        clock[0] += TOLD + 1
        assert watch.look().full  # it still takes nothing
    clock[0] += TOLD
    assert watch.look().to_json().keys() == {"free", "full"}
    assert not watch.look().full
    assert list(tmp_path.glob("*.tmp")) == []


def test_disks_of_others_are_not_ours(tmp_path: Path, clock: list[float]) -> None:
    watch = DiskWatch(tmp_path / "data")
    (tmp_path / "data").mkdir()
    with disk.use(FullDisk()), pytest.raises(DiskError):
        write_atomic(tmp_path / "data-of-others.json", b"{}")
    assert not watch.look().full


def test_a_disk_that_fails_otherwise_is_not_full(tmp_path: Path, clock: list[float]) -> None:
    disk_watch.refused(str(tmp_path / "log"), OSError(errno.EIO, "Input/output error"), "Input/output error")
    found = DiskWatch(tmp_path).look()
    assert (found.full, found.error) == (False, f"{tmp_path}/log: cannot write: Input/output error")


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path, clock: list[float]) -> None:
    found = DiskWatch(tmp_path / "gone").look()
    assert (found.free, found.full) == (None, False)
    assert "No such file" in found.error
