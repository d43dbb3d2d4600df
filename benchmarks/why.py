"""How long `headgate why` takes on a ring of ten minutes.

    python benchmarks/why.py [--runs 12] [--queries 24]

It writes the history that a busy engine would have kept, every decision with eight waiting units, then asks for the
worst result of a query and for the inversions, each in a fresh process as a user would.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from headgate.history.records import Answer, Arrivals, RunRecord, RunStart, Setting
from headgate.history.ring import FOLDER, KEPT, HistoryRing
from headgate.model import WaitingUnit, Why

COMMAND = "from headgate.cli.entry import run; run()"
WORKERS = 2
CLASSES = {"critical": 60.0, "normal": 30.0, "background": 10.0}


def write(directory: Path, rate: int, queries: int) -> int:
    """Write ten minutes of history; returns how many runs it has."""
    random = Random(1)
    names = [f"q{number}" for number in range(queries)]
    of = {name: list(CLASSES)[place % len(CLASSES)] for place, name in enumerate(names)}
    header = {
        "policy": "express",
        "workers": WORKERS,
        "fuse": "class",
        "classes": [{"name": name, "priority": priority} for name, priority in CLASSES.items()],
        "queries": [{"name": name, "query_class": of[name], "plan": {"is": "Select"}} for name in names],
    }
    ring = HistoryRing(directory / FOLDER)
    ring.write(Setting(0.0, 0.0, header))
    free = [0.0] * WORKERS
    count = 0
    while min(free) < KEPT:
        worker = free.index(min(free))
        began, name = free[worker], random.choice(names)
        evaluated = began + random.uniform(0.5, 1.5) * WORKERS / rate
        count += 1
        waiting = [
            WaitingUnit(
                other, of[other], (other,), 100, began - random.random(), {"score 1": random.random(), "wait": 1.0}
            )
            for other in random.sample([other for other in names if other != name], min(8, queries - 1))
        ]
        oldest = began - random.random()
        why = Why("express", "highest", name, {"score 1": 1.0}, waiting[0].unit, {}, waiting=tuple(waiting))
        taken = ((1, 0, 1000),)
        start = RunStart(
            count, worker, name, of[name], (name,), 1000, oldest, began, takes=taken, decision=count, recorded_why=why
        )
        ring.write(start)
        answers = {name: Answer(100, oldest + 0.1, oldest)}
        ring.write(RunRecord.of_start(start, evaluated, evaluated + 0.02, answers=answers, recorded_why=None))
        ring.write(Arrivals(began, "readings", ((began, 1000),)))
        free[worker] = evaluated
    ring.close()
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="runs a second")
    parser.add_argument("--queries", type=int, default=24)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = write(Path(folder), given.runs, given.queries)
        size = sum(path.stat().st_size for path in (Path(folder) / FOLDER).iterdir())
        print(f"{runs:,} runs in {KEPT:g} s, {size / 1e6:.1f} MB")
        for asked in (("q0", folder), ("q0", folder, "--at", "300 s"), (folder, "--inversions", "--over", "60 s")):
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, "why", *asked], capture_output=True, text=True, check=True
            )
            shown = " ".join(word if word != folder else "DIR" for word in asked)
            print(f"headgate why {shown}: {time.perf_counter() - began:.2f} s; {done.stdout.splitlines()[-1]}")


if __name__ == "__main__":
    main()
