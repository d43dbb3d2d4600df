"""Seeds of the simulated engine.

python -m tests.spark.chaos --seeds 10000
python -m tests.spark.chaos --seed 4711 --verbose      one of them again
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from pathlib import Path

import pyarrow as pa
from tests.spark.chaos.standins import in_place
from tests.spark.chaos.world import Figures, World
from tests.spark.store.builders import scratch

from headgate.spark.store import disk


def play(seed: int, *, verbose: bool = False) -> Figures:
    """One case; what is broken is raised."""
    with scratch() as folder:
        world = World(seed, Path(folder), verbose=verbose)
        try:
            with in_place(), disk.use(world.disk):
                return world.live()
        finally:
            system = getattr(world, "system", None)
            if system is not None:
                system.let_go()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--verbose", action="store_true", help="print every step")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    pa.set_cpu_count(1)  # small tables: threads cost more than they give, and a case has none
    pa.set_io_thread_count(1)
    gc.freeze()  # what was imported stays
    total, failed, began, said = Figures(), 0, time.monotonic(), time.monotonic()
    for number, seed in enumerate(seeds, start=1):
        try:
            total.add(play(seed, verbose=given.verbose))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            failed += 1
            if given.verbose:
                traceback.print_exc()
            told = str(error).splitlines() or [""]
            print(f"python -m tests.spark.chaos --seed {seed}  # {type(error).__name__}: {told[0]}", flush=True)
            if failed >= given.failures:
                break
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"{number} seeds, {number / (said - began):.1f} a second, {failed} failed", flush=True)
    seconds = time.monotonic() - began
    print(
        f"{number} seeds in {seconds:.0f} s: {total.steps} steps, {total.crashes} crashes, {total.faults} faults, "
        f"{total.commands} commands, {total.commits} commits; {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a case
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.spark.chaos", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
