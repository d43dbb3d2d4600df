"""What a decision costs, by policy and number of units; everything in one run.

Every unit is a query of one operator, all read one stream. A tuple arrives for all of them, then one core asks the
scheduler again and again until nothing waits; the time for all of that, per decision.
`growth` is the time at the most units over the time at the fewest; a policy that keeps a heap may grow like the
logarithm (printed last), one that looks at every unit like the number of units.

    python benchmarks/decisions.py [--policy hnr]* [--units 10 --units 1000] [--seconds 1] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time

from headgate.core import Arrived, Scheduler
from headgate.model import Given, Outcome, QoS, Query, QueryClass, Run, Select, Source, Stream
from headgate.plan.network import Network
from headgate.policies.registry import policies

SIZES = (10, 100, 1_000, 10_000)
Table = dict[str, dict[int, float]]


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


def decision_seconds(policy: str, net: Network, budget: float) -> float:
    """Seconds per decision: the best of rounds in which every unit has one tuple, within a time budget."""
    scheduler = Scheduler(net, policy)
    best, began, now = math.inf, time.perf_counter(), 0.0
    while best == math.inf or time.perf_counter() - began < budget:
        now += 1.0
        best = min(best, _round(scheduler, now, began + budget))
    return best


def _round(scheduler: Scheduler, now: float, until: float) -> float:
    decisions, began = 0, time.perf_counter()
    scheduler.event(Arrived("s", now), now)
    while isinstance(run := scheduler.next(0, now), Run):
        scheduler.finished(Outcome(run, 0.0), now)
        decisions += 1
        if not decisions & 15 and time.perf_counter() > until:
            break
    return (time.perf_counter() - began) / max(1, decisions)


def measure(names: list[str], sizes: list[int], budget: float) -> Table:
    networks = {size: network(size) for size in sizes}
    return {
        name: {size: decision_seconds(name, networks[size], budget / len(sizes)) for size in sizes} for name in names
    }


def show(table: Table, sizes: list[int]) -> None:
    print("microseconds per decision\n")
    print(f"{'units':16}" + "".join(f"{size:>10,}" for size in sizes) + f"{'growth':>10}")
    for name, row in sorted(table.items(), key=lambda item: item[1][sizes[-1]]):
        times = "".join(f"{row[size] * 1e6:>10.2f}" for size in sizes)
        print(f"{name:16}{times}{row[sizes[-1]] / row[sizes[0]]:>9.1f}×")
    logarithmic, linear = math.log(sizes[-1]) / math.log(sizes[0]), sizes[-1] / sizes[0]
    print(f"\nlogarithmic growth would be {logarithmic:.1f}×, linear {linear:,.0f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", help="policies to measure; all of them by default")
    parser.add_argument("--units", action="append", type=int, help="how many units; 10 … 10 000 by default")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each policy")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = sorted(options.units or SIZES)
    table = measure(options.policy or list(policies()), sizes, options.seconds)
    if options.json:
        print(json.dumps(table))
    else:
        show(table, sizes)


if __name__ == "__main__":
    main()
