"""The disk that tests crash: what it keeps, loses and refuses."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.spark.chaos.faultydisk import Crash, FaultyDisk
from tests.spark.store.builders import scratch

from headgate.spark.store import disk

MAKE = os.O_RDWR | os.O_CREAT


@pytest.fixture
def root() -> Iterator[Path]:
    with scratch() as folder:
        yield Path(folder)


def put(path: Path, data: bytes, *, sync: bool = False, position: int = 0) -> None:
    with disk.opened(path, MAKE) as descriptor:
        disk.write_all(descriptor, data, position)
        if sync:
            disk.fsync(descriptor)


def listing(root: Path) -> dict[str, bytes | None]:
    found = sorted(root.rglob("*"))
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in found}


def outcomes(
    work: Callable[[Path], object], seeds: int = 60, *, reorder: bool = False
) -> list[dict[str, bytes | None]]:
    """All that a power cut may leave after some work."""
    found = []
    for seed in range(60):
        with scratch() as folder:
            faulty = FaultyDisk(Path(folder), seed)
            with disk.use(faulty):
                work(Path(folder))
            faulty.crash(reorder=reorder)
            if (now := listing(Path(folder))) not in found:
                found.append(now)
    return found


def test_what_was_forced_to_disk_stays(root: Path) -> None:
    faulty = FaultyDisk(root)
    with disk.use(faulty):
        disk.make_folder(root / "a" / "b")
        put(root / "a" / "b" / "file", b"content", sync=True)
        disk.sync(root / "a" / "b")
    before = listing(root)
    for _ in range(20):
        faulty.crash()
        assert listing(root) == before == {"a": None, "a/b": None, "a/b/file": b"content"}


def test_what_was_written_since_is_there_up_to_some_byte() -> None:
    def work(root: Path) -> None:
        put(root / "file", b"12", sync=True)
        disk.sync(root)
        put(root / "file", b"34", position=2)
        put(root / "file", b"56", position=4)

    found = {outcome["file"] for outcome in outcomes(work)}
    assert found == {b"12", b"123", b"1234", b"12345", b"123456"}


def test_content_goes_with_a_file_that_is_renamed() -> None:
    def work(root: Path) -> None:
        put(root / "new", b"new", sync=True)
        put(root / "file", b"old", sync=True)
        disk.sync(root)
        disk.replace(root / "new", root / "file")

    assert sorted(outcomes(work), key=len) == [{"file": b"new"}, {"file": b"old", "new": b"new"}]


def test_names_are_lost_in_order_or_in_any() -> None:
    def work(root: Path) -> None:
        for name in "abc":
            put(root / name, b"", sync=True)

    in_order = {"".join(outcome) for outcome in outcomes(work)}
    assert in_order == {"", "a", "ab", "abc"}
    assert {"".join(outcome) for outcome in outcomes(work, reorder=True)} == {*in_order, "b", "c", "ac", "bc"}


@pytest.mark.parametrize("reorder", [False, True])
def test_a_file_that_moves_between_folders_is_never_without_a_name(reorder: bool) -> None:
    def work(root: Path) -> None:
        for name in ("a", "b"):
            disk.make_folder(root / name)
        put(root / "a" / "file", b"content", sync=True)
        disk.sync(root / "a")
        disk.replace(root / "a" / "file", root / "b" / "file")
        disk.rmtree(root / "a")

    found = [set(outcome) for outcome in outcomes(work, reorder=reorder)]
    assert all(names & {"a/file", "b/file"} for names in found)
    assert {"b", "b/file"} in found
    assert {"a", "b", "a/file"} in found


def test_the_folder_of_a_file_may_be_lost_with_it() -> None:
    def work(root: Path) -> None:
        disk.mkdir(root / "a")
        put(root / "a" / "file", b"content", sync=True)
        disk.sync(root / "a")

    assert {} in outcomes(work)


def test_what_others_have_written_is_known_once_it_is_forced_to_disk() -> None:
    def work(root: Path) -> None:
        (root / "file").write_bytes(b"content")
        (root / "other").write_bytes(b"content")
        disk.sync(root / "file")
        disk.sync(root)

    found = outcomes(work)
    assert {outcome["file"] for outcome in found} == {b"content"}
    assert {b"", b"content"} < {outcome["other"] for outcome in found}


def test_a_kill_loses_nothing_and_forces_nothing_to_disk(root: Path) -> None:
    faulty = FaultyDisk(root)
    with disk.use(faulty):
        put(root / "file", b"content")
    faulty.kill()
    assert listing(root) == {"file": b"content"}
    chance = random.Random(1)
    faulty.crash(chance)
    assert listing(root) in ({}, {"file": b""}, *({"file": b"content"[:size]} for size in range(8)))


def test_death_comes_at_an_operation_and_stays(root: Path) -> None:
    faulty = FaultyDisk(root, seed=3)
    faulty.crash_at = 3  # the file is made, written, forced to disk
    with disk.use(faulty):
        with pytest.raises(Crash, match=r"seed 3, operation 3,(.*\n)*  3 fsync .*/file$"):
            put(root / "file", b"content", sync=True)
        for act in (partial(put, data=b""), disk.sync, disk.unlink):
            with pytest.raises(Crash):
                act(root / "file")
        faulty.kill()
        assert listing(root) == {"file": b"content"}
        disk.unlink(root / "file")


def test_who_has_died_cannot_go_on(root: Path) -> None:
    faulty = FaultyDisk(root)
    with disk.use(faulty):
        with disk.opened(root / "file", MAKE) as descriptor:
            faulty.kill()
            with pytest.raises(Crash, match="opened before"):
                disk.write_all(descriptor, b"zombie", 0)
        assert listing(root) == {"file": b""}


def test_a_full_disk_takes_a_part_and_then_nothing(root: Path) -> None:
    faulty = FaultyDisk(root, seed=1)
    with disk.use(faulty), disk.opened(root / "file", MAKE) as descriptor:
        faulty.fail_next("write", errno.ENOSPC)
        with pytest.raises(OSError, match="No space"):
            disk.write_all(descriptor, bytes(1000), 0)
        assert 0 < (root / "file").stat().st_size < 1000
        faulty.full = True
        with pytest.raises(OSError, match="No space"):
            disk.mkdir(root / "a")
        with pytest.raises(OSError, match="No space"):
            disk.write_all(descriptor, b"1", 0)
        faulty.full = False
        disk.write_all(descriptor, b"1", 0)


@pytest.mark.parametrize("operation", ["open", "write", "truncate", "fsync", "replace", "unlink", "mkdir", "rmdir"])
def test_any_operation_fails_when_it_is_asked_to(root: Path, operation: str) -> None:
    def all_of_them() -> None:
        disk.mkdir(root / "folder")
        put(root / "folder" / "file", b"1", sync=True)
        with disk.opened(root / "folder" / "file", MAKE) as descriptor:
            disk.truncate(descriptor, 0)
        disk.replace(root / "folder" / "file", root / "folder" / "other")
        disk.rmtree(root / "folder")

    faulty = FaultyDisk(root)
    with disk.use(faulty):
        faulty.fail_next(operation, errno.EIO, after=1)
        all_of_them()
        with pytest.raises(OSError, match="Input/output error"):
            all_of_them()
    with pytest.raises(ValueError, match="no operation"):
        faulty.fail_next("fsink", errno.EIO)


def test_an_fsync_that_fails_has_lost_what_was_written(root: Path) -> None:
    faulty = FaultyDisk(root)
    with disk.use(faulty), disk.opened(root / "file", MAKE) as descriptor:
        disk.sync(root)
        disk.write_all(descriptor, b"lost", 0)
        faulty.fail_next("fsync", errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            disk.fsync(descriptor)
        assert (root / "file").read_bytes() == b"lost"
        disk.write_all(descriptor, b"kept", 4)
        disk.fsync(descriptor)
    faulty.crash()
    assert (root / "file").read_bytes() == b"\0\0\0\0kept"


def test_the_same_seed_fails_and_leaves_the_same() -> None:
    def told(seed: int) -> tuple[list[int], dict[str, bytes | None]]:
        with scratch() as folder:
            faulty = FaultyDisk(Path(folder), seed, rates={("write", errno.ENOSPC): 0.2, ("fsync", errno.EIO): 0.2})
            failed = []
            with disk.use(faulty):
                for number in range(40):
                    try:
                        put(Path(folder) / f"{number % 7}", bytes([number] * 100), sync=True)
                    except OSError:
                        failed.append(faulty.number)
            faulty.crash(reorder=True, holes=0.5)
            return failed, listing(Path(folder))

    first = told(1)
    assert first == told(1)
    assert first != told(2)
    assert len(first[0]) > 5


def test_the_real_disk_is_back_whatever_ends_the_use_of_another(root: Path) -> None:
    faulty = FaultyDisk(root)
    faulty.crash_at = 1
    with suppress(Crash), disk.use(faulty):
        disk.mkdir(root / "a")
    disk.mkdir(root / "a")
    assert faulty.number == 1
