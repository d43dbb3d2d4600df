"""Workloads as a file would say them, and what simulations of them gave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from headgate.metrics import Records, measure
from headgate.metrics.report.run_report import Report
from headgate.sim import Simulation, simulate
from headgate.workload import Workload, parse_workload

EXAMPLES = Path(__file__).parents[2] / "examples"

# Nothing is left undone and no unit is passed over: never idle while something waits.
WORK_CONSERVING = ("fcfs", "fifo", "random", "rr", "srpt", "weighted-hr", "hr", "hnr", "lsf", "bsd", "mtiq", "greedy")


def workload(
    queries: Mapping[str, Any],  # an operator, a chain of them, or a whole [[query]]
    streams: Mapping[str, Any] | str = "constant, rate=10",
    *,
    changes: Sequence[Mapping[str, Any]] = (),
    classes: Mapping[str, float] | None = None,
    **head: Any,
) -> Workload:
    """A workload of queries given by operators, by default over one stream `s` for ten seconds."""
    named = {"s": streams} if isinstance(streams, str) else streams
    tables = [_table("[workload]", {"duration": "10 s", **head})]
    for name, about in named.items():
        tables.append(_table("[[stream]]", {"name": name, **(_of(about, "arrivals"))}))
    for name, priority in (classes or {}).items():
        tables.append(_table("[[class]]", {"name": name, "priority": priority}))
    for name, operators in queries.items():
        about = _of([operators] if isinstance(operators, str) else operators, "operators")
        reads = {} if len(named) > 1 else {"from": list(named)}
        tables.append(_table("[[query]]", {"name": name, **reads, **about}))
    tables += [_table("[[change]]", change) for change in changes]
    return parse_workload("\n".join(tables))


def _of(about: Any, key: str) -> dict[str, Any]:
    return dict(about) if isinstance(about, Mapping) else {key: about}


def _table(head: str, values: Mapping[str, Any]) -> str:
    return "\n".join([head, *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""])


def judged(workload: Workload, policy: str) -> Report:
    return measure(simulate(workload, policy))


def results(records: Records) -> dict[str, list[float]]:
    """The arrivals of every query's results, sorted: what came out, whenever it did."""
    return {query.query: sorted(query.arrival) for query in records.queries}


def counts(records: Records) -> dict[str, int]:
    return {query.query: len(query.arrival) for query in records.queries}


def emissions(records: Records) -> dict[str, list[float]]:
    return {query.query: list(query.emission) for query in records.queries}


def responses(records: Records) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.concatenate([np.array(query.emission) - np.array(query.arrival) for query in records.queries])


def traced(workload: Workload, policy: str) -> tuple[Records, list[str]]:
    """What a simulation gave, and its trace line by line."""
    text = StringIO()
    records = simulate(workload, policy, trace=text)
    return records, text.getvalue().splitlines()


def intervals(lines: Sequence[str]) -> list[tuple[float, float, int, tuple[int, ...]]]:
    """Every run of a trace: when it began and ended, on which worker, and its units."""
    began: dict[int, tuple[float, int, tuple[int, ...]]] = {}
    found = []
    for line in map(json.loads, lines):
        if "run" in line:
            began[line["run"]["id"]] = (line["now"], line["next"], tuple(line["run"]["units"]))
        elif "finished" in line:
            start, worker, units = began.pop(line["finished"])
            found.append((start, line["now"], worker, units))
    return found


def running(workload: Workload, policy: str) -> Simulation:
    """A simulation that has run, to look into."""
    simulation = Simulation(workload, policy)
    simulation.run()
    return simulation
