"""How long a what-if takes: ten recorded minutes of the plant's 24 queries under ten policies.

    python benchmarks/what_if_speed.py                      ten minutes, ten policies
    python benchmarks/what_if_speed.py --minutes 1 --jobs 1 a quicker look

The history is made up, as an engine with two workers would write it: 50 chunks of tuples a second, a run every 30 ms.
Printed are the seconds for reading it, for learning from it, and for the replays of all policies, the recorded one
among them. The goal is a minute in all on two cores. Last is how long it takes to say what one more query would do.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from headgate.cli.parallel_replays import replay_all
from headgate.core import Scheduler
from headgate.core.trace import header
from headgate.history.records import Answer, Arrivals, Record, RunRecord, Setting
from headgate.history.ring import FOLDER, HistoryRing, read_history
from headgate.model import WHOLE_QUEUE
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.stats import Measured
from headgate.what_if.ask import Inquiry, Question, ask_added
from headgate.what_if.learned import Learned
from headgate.what_if.windows import slide_of
from headgate.workload import read_workload

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
REST = 0.004  # as the engine has it
POLICIES = ("fcfs", "rr, level=query", "random", "hr", "hnr", "bsd", "weighted-hr", "mbd", "express", "lsf")
RATES = {"readings": 400, "alarms": 4}  # tuples a second
CHUNKS = 50  # a second
ADDED = "SELECT location FROM readings WHERE humidity > 90"
EVERY = 0.03  # seconds between two runs


def made_up(seconds: float) -> Iterator[Record]:
    """A history of the plant: every query's turn comes again and again, and it takes what has come since."""
    dice = random.Random(1)
    workload = read_workload(PLANT)
    network = Network.of(workload.queries, workload.streams, workload.classes, share=False)
    settings = {"learn": True, "train": WHOLE_QUEUE, "fuse": Fuse.OFF, "workers": 2, "rest": REST}
    scheduler = Scheduler(network, "fcfs", measured=Measured.of(network, fits_overhead=True), **settings)  # type: ignore[arg-type]
    yield Setting(0.0, 0.0, header(scheduler))
    names = list(network.queries)
    taken = dict.fromkeys(network.edges, 0)
    last_run = dict.fromkeys(names, 0.0)
    number = 0
    for second in range(int(seconds)):
        for stream, rate in RATES.items():
            share = rate // CHUNKS or 1
            steps = min(CHUNKS, rate)
            yield Arrivals(second + 1.0, stream, tuple((second + step / steps, share) for step in range(steps)))
        began = float(second)
        while began < second + 1:
            name = names[number % len(names)]
            query = network.queries[name]
            takes = []
            for queue in network.leaves(name).values():
                end = int(RATES[network.stream(queue) or ""] * began)
                if end > taken[queue]:
                    takes.append((queue, taken[queue], end))
                    taken[queue] = end
            tuples = sum(behind - first for _, first, behind in takes)
            took = (0.04 + 2e-5 * tuples) * dice.uniform(0.9, 1.2)
            slide = slide_of(query.plan)
            middle = (last_run[name] + began) / 2
            released = None if slide is None else began - began % slide
            answers = {name: Answer(max(1, tuples // 10), middle, last_run[name], released)} if tuples else {}
            number += 1
            if tuples:
                yield RunRecord(
                    number, number % 2, name, query.query_class, (name,), tuples, last_run[name], began, began + took,
                    began + took + 0.004, None, 1.0, float(tuples), answers, number, takes=tuple(takes),
                )  # fmt: skip
            last_run[name] = began
            began += EVERY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--jobs", type=int, help="processes at a time; one per core if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headgate-what-if-") as folder:
        ring = HistoryRing(Path(folder) / FOLDER, kept=3600.0)
        for record in made_up(60 * options.minutes):
            ring.write(record)
        ring.close()
        began = time.perf_counter()
        history = read_history(folder)
        read = time.perf_counter()
        learned = Learned.of(history)
        known = time.perf_counter()
        inquiry = Inquiry.of(learned, Question(tuple(options.policies)))
        for policy, judged in replay_all(inquiry, options.jobs, lambda done, doing: None):
            failure = judged if isinstance(judged, Exception) else ""
            print(f"{policy or 'recorded':20} {time.perf_counter() - known:6.1f} s  {failure}")
        ended = time.perf_counter()
        for last in (30.0, 60.0, None):
            asked = time.perf_counter()
            ask_added(folder, ADDED, "normal", last=last)
            part = "all of it" if last is None else f"the last {last:g} s"
            print(f"one more query, by {part}: {time.perf_counter() - asked:.1f} s, with reading")
    print(f"{len(history.runs):,} runs: read in {read - began:.1f} s, learned in {known - read:.1f} s, "
          f"{len(options.policies)} policies and the recorded one replayed in {ended - known:.1f} s: "
          f"{ended - began:.1f} s in all")  # fmt: skip


if __name__ == "__main__":
    main()
