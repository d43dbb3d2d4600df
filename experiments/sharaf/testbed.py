"""The testbed of section 8, which figures 5 to 11, 13 and 14 share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from headgate.model import Query
from headgate.reproduction import Key, Run, Simulation, Size
from headgate.sim.arrivals import arrivals
from headgate.sim.load import offered_load
from headgate.workload import Workload
from headgate.workload.reader import parse_workload

UNIT = 1e-6  # seconds: what the cheapest operator takes for a tuple
TURN = 16 * UNIT  # calibrated on figure 5, RR at load 0.7


def round_robin(turn: float) -> str:
    """RR with turns of so many seconds; inside a query of one path, the rate-based order pushes tuples to the end."""
    return f"rr, unit=query, quantum={turn}s"


POLICIES = {
    "RR": round_robin(TURN),
    "FCFS": "fcfs",
    "SRPT": "srpt",
    "HR": "hr",
    "HNR": "hnr",
    "LSF": "lsf",
    "BSD": "bsd",
}
LOADS = (0.5, 0.7, 0.9, 0.95, 0.97)
QUICK_LOADS = (0.7, 0.95, 0.97)
QUICK, FULL = Size(seconds=2.0, seeds=1), Size(seconds=10.0, seeds=2)  # at about 50 packets a second
ARRIVALS = "onoff, rate=50, on=255ms, off=5090ms, shape=1.4, sources=32"
FILE = Path(__file__).parents[2] / "workloads" / "sharaf.toml"


def queries() -> Workload:
    """The queries of the first seed; `at_load` draws those of the others."""
    return drawn(1)


@cache
def drawn(seed: int) -> Workload:
    """The file's queries as a seed draws them, named by their cost in units and the tenth of their selectivity."""
    text, replaced = re.subn(r"^seed = \d+$", f"seed = {seed}", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert replaced == 1
    workload = parse_workload(text, file=str(FILE))
    return replace(workload, queries=tuple(_named(query) for query in workload.queries), load=None)


def _named(query: Query) -> Query:
    given = query.plan.given
    select = query.plan.inputs[0].inputs[0].given  # type: ignore[union-attr]
    tenth = min(9, floor(10 * (select.selectivity or 0.0)))
    return replace(query, name=f"c{round(given.cost / UNIT)}-s{tenth}-{query.name}")


def at_load(workload: Workload, seed: int, load: float) -> Workload:
    """A seed's queries and packets, at a load that the packets which really come make."""
    return replace(_at_load(seed, workload.duration, load), decision_cost=workload.decision_cost)


@cache
def _at_load(seed: int, seconds: float, load: float) -> Workload:
    return loaded(replace(drawn(seed), duration=seconds), seed, load)


def loaded(workload: Workload, seed: int, load: float) -> Workload:
    """Packets drawn for the duration, their times then stretched until they ask for the load; costs stay."""
    (stream,) = workload.streams
    times = arrivals(ARRIVALS, workload.directory).times(workload.duration, np.random.default_rng(seed))
    came = replace(workload, streams=(replace(stream, arrivals=_at(times)),), seed=seed)
    stretched = times * (offered_load(came) / load)
    return replace(came, streams=(replace(stream, arrivals=_at(stretched)),), duration=float(stretched[-1]) + UNIT)


def _at(times: np.typing.NDArray[np.float64]) -> str:
    return f"at, times=[{', '.join(f'{1e6 * time:.3f}us' for time in times)}]"


def runs(policies: Iterable[str] | Mapping[str, str], loads: Iterable[float] = LOADS, **further: Any) -> dict[Key, Run]:
    """Policies of the document at some loads, by (policy, load)."""
    named = policies if isinstance(policies, Mapping) else {name: POLICIES[name] for name in policies}
    return {
        (name, load): Simulation(
            workload=queries,
            policy=policy,
            per_seed=partial(at_load, load=load),
            in_quick=load in QUICK_LOADS,
            **further,
        )
        for name, policy in named.items()
        for load in loads
    }
