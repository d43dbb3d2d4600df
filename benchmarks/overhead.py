"""What deciding costs as a share of run time, on Carney's network of 1000 applications of 10 boxes (his table 4.5).

The simulator runs the boxes at their given costs; what the scheduler does is timed, in seconds of CPU, and charged to
the core at that moment, so tuples wait for decisions as they would wait for a real scheduler. `--slower 0.5` charges
half of it, as a machine or a language twice as fast would have it: his scheduler was written in C++.

    python benchmarks/overhead.py [--rate 4000] [--seconds 2] [--slower 1.0]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from headgate.metrics import Report, measure
from headgate.sim import Simulation
from headgate.sweep.varied_settings import varied
from headgate.workload import Workload, read_workload

FILE = Path(__file__).parents[1] / "workloads" / "carney-4.4.toml"
PUBLISHED = {
    "bucketing, push=true, partitions=50, schedule=300": 4.0,
    "fixed-priority, push=true, schedule=300": 7.5,
    "slope-slack, push=true, schedule=300": 16.0,
}
DECIDES = ("event", "next", "finished")  # what the scheduler is called for


class Charged(Simulation):
    """A simulation that charges for decisions what they took."""

    def __init__(self, workload: Workload, policy: str, slower: float) -> None:
        super().__init__(replace(workload, decision_cost=1.0), policy)  # any cost makes the loop ask for the charge
        self._slower = slower
        self._took = 0.0
        for name in DECIDES:
            setattr(self.scheduler, name, self._timed(getattr(self.scheduler, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*arguments)
            finally:
                self._took += time.thread_time() - began

        return timed

    def _charge(self, each: float) -> float:
        seconds, self._took = self._took * self._slower, 0.0
        self._scheduling += seconds
        return seconds


def run(policy: str, rate: float, seconds: float, slower: float) -> Report:
    workload = replace(read_workload(FILE), duration=seconds)
    simulation = Charged(varied(workload, {"rate": rate / len(workload.streams)}), policy, slower)
    gc.collect()
    gc.freeze()  # looking through 10 000 boxes for garbage is no part of a decision
    return measure(simulation.run())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=4000.0, help="tuples a second in all")
    parser.add_argument("--seconds", type=float, default=2.0, help="simulated seconds")
    parser.add_argument("--slower", type=float, default=1.0, help="multiplies what decisions took")
    given = parser.parse_args()
    shares = {policy: run(policy, given.rate, given.seconds, given.slower) for policy in PUBLISHED}
    print(f"{given.rate:g} tuples a second, decisions charged at {given.slower:g} of their cost here\n")
    print(f"{'policy':52}{'share':>8}{'published':>11}{'decisions':>11}{'QoS':>7}")
    for policy, report in shares.items():
        share, decisions = report.value("scheduling.share") or 0.0, report.value("scheduling.decisions") or 0
        qos = report.value("qos.mean") or 0.0
        print(f"{policy:52}{share:>8.1%}{PUBLISHED[policy]:>10.1f}%{decisions:>11,.0f}{qos:>7.2f}")
    first, *_, last = (report.value("scheduling.share") or 0.0 for report in shares.values())
    print(f"\nbucketing over slope-slack: {first / last:.2f}, published 0.25")


if __name__ == "__main__":
    main()
