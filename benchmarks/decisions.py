"""What a decision costs, by policy and number of units; everything in one run.

Every unit is a query of one operator, all read one stream. A tuple arrives for all of them, then one core asks the
scheduler again and again until nothing waits; the CPU time for all of that, per decision. Where that would take longer
than the policy's share of `--seconds`, it stops early, while nearly all units still wait: such times are marked `~`,
and are those of the worst moment, not of the mean over a round.
`growth` is the time at the most units over the time at the fewest; a policy that keeps a heap may grow like the
logarithm (printed last), one that looks at every unit like the number of units. `of a job` is a decision at 1 000 units
over a Spark job of `--job` milliseconds.

    python benchmarks/decisions.py [--policy hnr]* [--units 10 --units 1000] [--seconds 2] [--job 20] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from typing import NamedTuple

from headgate.core import Arrived, Scheduler
from headgate.model import Given, Outcome, QoS, Query, QueryClass, Run, Select, Source, Stream
from headgate.plan.network import Network
from headgate.policies.registry import policies

SIZES = (10, 100, 1_000, 10_000)
JUDGED = 1_000  # units at which a decision is held against a Spark job


class Cost(NamedTuple):
    """Seconds per decision, and whether until nothing waited."""

    seconds: float
    whole: bool


Table = dict[str, dict[int, Cost]]


def network(units: int) -> Network:
    rng = random.Random(1)
    queries = [
        Query(
            name=f"q{number}",
            query_class=f"c{number % 3}",
            plan=Select(
                inputs=(Source("s"),),
                given=Given(cost=rng.uniform(1e-6, 16e-6), selectivity=rng.uniform(0.1, 1.0)),
            ),
            qos=QoS.of([[0.0, 1.0], [0.5 + number % 7, 1.0], [10.0, 0.0]]),
        )
        for number in range(units)
    ]
    classes = [QueryClass(f"c{number}", priority=10.0 * (number + 1)) for number in range(3)]
    return Network.of(queries, [Stream(name="s")], classes)


def decision_cost(policy: str, net: Network, budget: float) -> Cost:
    """The best of rounds in which every unit has one tuple, within a time budget."""
    scheduler = Scheduler(net, policy)
    found: list[Cost] = []
    began, now = time.process_time(), 0.0
    while not found or time.process_time() - began < budget:
        now += 1.0
        found.append(_round(scheduler, len(net.queries), now, began + budget))
    return min(found, key=lambda cost: (not cost.whole, cost.seconds))


def _round(scheduler: Scheduler, units: int, now: float, until: float) -> Cost:
    decisions, began = 0, time.process_time()
    scheduler.event(Arrived("s", now), now)
    arriving = (time.process_time() - began) / units  # every decision's share, also of those that are not made
    began = time.process_time()
    while isinstance(run := scheduler.next(0, now), Run):
        scheduler.finished(Outcome(run, 0.0), now)
        decisions += 1
        if not decisions & 15 and time.process_time() > until:
            return Cost(arriving + (time.process_time() - began) / decisions, whole=False)
    return Cost(arriving + (time.process_time() - began) / max(1, decisions), whole=True)


def measure(names: list[str], sizes: list[int], budget: float) -> Table:
    networks = {size: network(size) for size in sizes}
    return {name: {size: decision_cost(name, networks[size], budget / len(sizes)) for size in sizes} for name in names}


def show(table: Table, sizes: list[int], job: float) -> None:
    judged = JUDGED in sizes
    print("microseconds per decision; ~ stopped early, while nearly all units waited\n")
    head = f"{'units':20}" + "".join(f"{size:>11,}" for size in sizes) + f"{'growth':>9}"
    print(head + (f"{'of a job':>10}" if judged else ""))
    for name, row in sorted(table.items(), key=lambda item: item[1][sizes[-1]].seconds):
        times = "".join(f"{'' if row[size].whole else '~'}{row[size].seconds * 1e6:.2f}".rjust(11) for size in sizes)
        share = f"{row[JUDGED].seconds / job:>10.2%}" if judged else ""
        print(f"{name:20}{times}{row[sizes[-1]].seconds / row[sizes[0]].seconds:>8.1f}×{share}")
    logarithmic, linear = math.log(sizes[-1]) / math.log(sizes[0]), sizes[-1] / sizes[0]
    print(f"\nlogarithmic growth would be {logarithmic:.1f}×, linear {linear:,.0f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", help="policies to measure; all of them by default")
    parser.add_argument("--units", action="append", type=int, help="how many units; 10 … 10 000 by default")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each policy")
    parser.add_argument("--job", type=float, default=20.0, help="milliseconds of a Spark job")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = sorted(options.units or SIZES)
    table = measure(options.policy or list(policies()), sizes, options.seconds)
    if options.json:
        print(json.dumps({name: {n: cost._asdict() for n, cost in row.items()} for name, row in table.items()}))
    else:
        show(table, sizes, options.job / 1000)


if __name__ == "__main__":
    main()
