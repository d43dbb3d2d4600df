"""The whole store under a toy engine: lives that end at any operation, in a kill or a power cut, one after another."""

from __future__ import annotations

import random
from contextlib import suppress
from mmap import mmap
from pathlib import Path

import pytest
from tests.spark.chaos.crashes import ENDINGS
from tests.spark.chaos.faultydisk import Crash, FaultyDisk
from tests.spark.store.builders import scratch
from tests.spark.store.kills import account
from tests.spark.store.pipeline import Life, Promises

from headgate.spark.sinks import files as file_sinks
from headgate.spark.store import disk

pytestmark = pytest.mark.slow

LIVES = 6


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_or_doubled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sinks, "FAN", 4)
    chance = random.Random(seed)
    with scratch() as folder, mmap(-1, 64) as memory:
        root, promises = Path(folder), Promises(memory)
        faulty = FaultyDisk(root, seed)
        with disk.use(faulty):
            for number in range(LIVES):
                faulty.crash_at = faulty.number + chance.randint(1, 400)
                with suppress(Crash):
                    Life(root / "data", promises, LIVES * seed + number).live(100)
                ending = chance.choice(ENDINGS)
                faulty.kill() if ending == "kill" else faulty.crash(reorder=ending == "reorder")
            last = Life(root / "data", promises, seed)
            last.live(30)
            last.drain()
            _, results, wrong = account(root / "data")
        assert (wrong, results > 0) == ([], True), faulty.told()
