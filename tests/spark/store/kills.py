"""The kill test: a toy engine is killed and started again many times on one data directory; then all rows are counted.

    python -m tests.spark.store.kills --turns 2 --random 210 --seed 1

Each *life* of the engine is forked from this process, which has everything loaded, so it takes only milliseconds.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from mmap import mmap
from pathlib import Path

import pyarrow as pa
from tests.spark.store.builders import SCHEMA, scratch
from tests.spark.store.pipeline import SINKS, STREAM, Life, Promises, batch

from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.result_files import read
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.kill_points import POINTS, VARIABLE
from headgate.spark.store.log.stream_log import StreamLog

STEPS = 2000  # more than any life gets to live
FAVOURED = {
    "log.seal": "seal",
    "log.drop": "drop",
    "commit.append": "group",
    "commit.compact": "checkpoint",
    "sink.compact": "checkpoint",
    "sink.forward": "forward",
    "sink.adopt": "forward",
    "letters.take": "replay",
    "letters.settle": "replay",
}


def fork(work: Callable[[], object]) -> int:
    """A child that does the work; 0 is a good end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Arrow's idle threads, which know about forks
        child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def ended(child: int) -> bool:
    """Wait for a child: whether it was killed; a child that failed ends the campaign."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise SystemExit(f"a life ended with status {status}")
    return False


class Campaign:
    """Lives and deaths on one directory."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.promises = Promises(mmap(-1, 64))
        self.kills: Counter[str] = Counter()

    def at_point(self, point: str, turn: int) -> None:
        """A life that ends at a named point."""
        seed = self.chance.getrandbits(32)

        def work() -> None:
            os.environ[VARIABLE] = f"{point}:{turn}"
            Life(self.folder, self.promises, seed).live(STEPS, favour=FAVOURED.get(point.rpartition(".")[0], ""))

        if not ended(fork(work)):
            raise SystemExit(f"no life came to {point}")
        self.kills[point] += 1

    def at_random(self, folder: Path, promises: Promises, longest: float) -> None:
        """A life that ends at any moment, perhaps before it has recovered."""
        seed = self.chance.getrandbits(32)
        child = fork(lambda: Life(folder, promises, seed).live(STEPS))
        time.sleep(self.chance.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        self.kills["random"] += ended(child)

    def at_birth(self, longest: float) -> None:
        """A life that ends while it makes its directory; the next one must find its way."""
        with scratch() as folder:
            promises = Promises(mmap(-1, 64))
            for _ in range(3):
                self.at_random(Path(folder), promises, longest)
            ended(fork(lambda: Life(Path(folder), promises, 0).drain()))

    def run(self, turns: int, random_kills: int) -> None:
        """Every named point so many times and random moments, in random order; then a life that is left in peace."""
        longest = self.span()
        for _ in range(random_kills // 30):
            self.at_birth(longest / 3)
        deaths = [(point, turn) for point in POINTS for turn in range(1, turns + 1)] + [("", 0)] * random_kills
        self.chance.shuffle(deaths)
        for point, turn in deaths:
            if point:
                self.at_point(point, turn)
            else:
                self.at_random(self.folder, self.promises, longest)
        ended(fork(lambda: Life(self.folder, self.promises, 0).drain()))

    def span(self) -> float:
        """How long a life of a few steps takes here and now: random deaths come within that."""
        began = time.monotonic()
        ended(fork(lambda: Life(self.folder, self.promises, 0).live(8)))
        return time.monotonic() - began


def warm_up() -> None:
    """Live once in this process, so that every module is loaded and no forked life has to load it."""
    with scratch() as folder:
        life = Life(Path(folder), Promises(mmap(-1, 64)), 1)
        life.live(150)
        life.drain()


def expected(batches: int) -> tuple[list[int], list[int], list[int]]:
    """The ids that the log took, those of them that were late, and those that it rejected, from the batches alone."""
    kept: list[int] = []
    late: list[int] = []
    rejected: list[int] = []
    frontier = -math.inf
    for index in range(batches):
        table = batch(index)
        pairs = list(zip(table["id"].to_pylist(), table["ts"].cast(pa.int64()).to_pylist(), strict=True))
        kept += [number for number, moment in pairs if moment is not None]
        late += [number for number, moment in pairs if moment is not None and moment < frontier]
        rejected += [number for number, moment in pairs if moment is None]
        frontier = max([frontier, *(moment - 20 for _, moment in pairs if moment is not None)])
    return kept, late, rejected


def account(folder: Path) -> tuple[int, int, list[str]]:
    """How many rows the log took, how many results there are, and what is wrong."""
    wrong = []
    with DataDirectory(folder) as directory:
        log = StreamLog.open(directory.stream("s"), STREAM, SCHEMA)
        batches = [int(name[1:]) for name in log.batches if name.startswith("b")]
        kept, late, rejected = expected(batches[-1] + 1 if batches else 0)
        results = 0
        for query, divisor in zip(SINKS, (2, 3, 1), strict=True):
            counts = Counter(read(directory.result(query))["id"].to_pylist())
            wrong += differences(query, counts, [number for number in kept if number % divisor == 0])
            results += counts.total()
        letters = DeadLetters(directory.letters("s")).letters()
        wrong += differences("dead letters", Counter(letter.row["id"] for letter in letters if letter.row), rejected)
        late_offsets = {letter.offset for letter in letters if letter.reason.startswith("late by")}
        offsets = dict(zip(kept, range(len(kept)), strict=True))
        wrong += differences("late", Counter(number for number in kept if offsets[number] in late_offsets), late)
        if len(late_offsets) != len([letter for letter in letters if not letter.row]):
            wrong.append("late letters are doubled")
        if not late:
            wrong.append("nothing was late: the test tests less than it should")
    return len(kept), results, wrong


def differences(name: str, counts: Counter[int], wanted: list[int]) -> list[str]:
    asked = Counter(wanted)
    lost, doubled = (asked - counts).total(), (counts - asked).total()
    return [f"{name}: {lost} lost, {doubled} doubled or not asked for"] if lost or doubled else []


def forget_too_early() -> None:
    """Break the engine on purpose, in a way that only a crash shows: commits go before their results have arrived."""

    def checkpoint(self: Life) -> None:
        self.commits.compact()
        self.forward()
        self.store.tidy()

    Life.checkpoint = checkpoint  # type: ignore[method-assign]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    for name, default in (("turns", 2), ("random", 210), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--break", dest="broken", action="store_true", help="break the engine: it must be noticed")
    chosen = parser.parse_args(arguments)
    file_sinks.FAN = 4
    pa.set_cpu_count(1)
    warm_up()
    if chosen.broken:
        forget_too_early()
    began = time.monotonic()
    with scratch() as folder:
        campaign = Campaign(Path(folder), chosen.seed)
        campaign.run(chosen.turns, chosen.random)
        tuples, results, wrong = account(campaign.folder)
    kills, named = campaign.kills.total(), campaign.kills.total() - campaign.kills["random"]
    print(
        f"{kills} kills, {named} of them at {len(POINTS)} named points; {tuples} tuples, {results} results, "
        f"{time.monotonic() - began:.1f} s: {'; '.join(wrong) or 'none lost, none doubled'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
