"""What changes while it runs is followed by windows, by the report, and by steps that begin at once."""

from __future__ import annotations

import numpy as np

from headgate.metrics import measure
from headgate.sim import simulate
from headgate.sim.arrivals import arrivals
from headgate.workload import Workload, parse_workload

FILE = """
[workload]
duration = "20 s"

[[stream]]
name = "s"
arrivals = "constant, rate=10"

[[query]]
name = "q"
from = ["s"]
operators = ["aggregate, cost=1ms, selectivity=0.1, window=1s"]
"""
CHANGE = '\n[[change]]\nat = "10 s"\nquery = "q"\noperator = 0\nselectivity = 0.5\n'


def results(workload: Workload) -> int:
    return len(simulate(workload, "fcfs").queries[0].emission)


def test_an_aggregate_groups_by_its_selectivity_of_the_moment() -> None:
    assert results(parse_workload(FILE)) == 19
    # Ten tuples a window: one result each, from the window that closes at the change five.
    assert results(parse_workload(FILE + CHANGE)) in (9 * 1 + 10 * 5, 10 * 1 + 9 * 5)


def test_what_the_workload_changes_is_no_new_schedule() -> None:
    assert measure(simulate(parse_workload(FILE + CHANGE), "fcfs")).to_json()["convergence"]["updates"] == 0


def test_constant_steps_begin_at_once() -> None:
    times = arrivals("steps, rates=[2, 4], every=1s, kind=constant").times(2.0, np.random.default_rng(0))
    assert times.tolist() == [0.0, 0.5, 1.0, 1.25, 1.5, 1.75]
