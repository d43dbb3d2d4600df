"""Playing a script on a disk that dies or fails at one operation, and holding it to its promises afterwards."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.spark.chaos.faultydisk import Crash, FaultyDisk
from tests.spark.chaos.scripts import Script
from tests.spark.store.builders import scratch

from headgate.model import HeadgateError
from headgate.spark.store import disk

Make = Callable[[Path], Script]
ENDINGS = ("kill", "cut", "reorder")


class BrokenError(AssertionError):
    """A case that failed, by its name."""


@dataclass(frozen=True)
class Case:
    """What happens: at an operation, the disk dies (error 0) or fails; how it ends; the seed of everything else."""

    number: int
    error: int
    ending: str
    seed: int


def cases(operations: int, seeds: int = 1) -> Iterator[Case]:
    """Death at every operation and behind the last, and an error at every operation, each with so many seeds."""
    for number in range(1, operations + 2):
        for seed in range(seeds):
            for error in (0, (errno.EIO, errno.ENOSPC)[(seed + number) % 2]):
                yield Case(number, error, ENDINGS[(seed + number) % 3], seed)


def count(make: Make) -> int:
    """How many operations a script takes."""
    with scratch() as folder:
        faulty = FaultyDisk(Path(folder))
        with disk.use(faulty):
            _work(make(Path(folder)))
        return faulty.number


def run(make: Make, case: Case, new: type[FaultyDisk] = FaultyDisk, holes: float = 0.0) -> None:
    """Play a case; BrokenError if a promise is, or if the script cannot go on."""
    with scratch() as folder:
        faulty = new(Path(folder), case.seed)
        try:
            with disk.use(faulty):
                _play(make(Path(folder)), faulty, case, holes)
        except Exception as error:
            raise BrokenError(f"{case}: {type(error).__name__} {error}\n{faulty.told()}") from error


def _play(script: Script, faulty: FaultyDisk, case: Case, holes: float) -> None:
    chance = random.Random(case.seed)
    if case.error:
        faulty.fail_next("any", case.error, after=case.number - 1)
    else:
        faulty.crash_at = case.number
    with suppress(Crash):
        _work(script)
    _end(faulty, case.ending, chance, holes)
    longest = chance.choice((10, 200))
    faulty.crash_at = faulty.number + chance.randint(1, longest)  # recovery dies too, or what comes after it
    with suppress(Crash):
        script.check()
    _end(faulty, "reorder", chance, holes)
    script.check()


def _work(script: Script) -> None:
    """All steps; one that the disk refuses was not acknowledged, and the next one is tried."""
    try:
        script.open()
    except (HeadgateError, OSError):
        return
    for index in range(len(script.steps)):
        with suppress(HeadgateError, OSError):
            script.steps[index]()


def _end(faulty: FaultyDisk, ending: str, chance: random.Random, holes: float) -> None:
    if ending == "kill":
        faulty.kill()
    else:
        faulty.crash(chance, reorder=ending == "reorder", holes=holes)
