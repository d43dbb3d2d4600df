"""Which policies are simulated on which workloads, and for how long."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import headgate
from headgate.cli.policy_fit import misfit
from headgate.policies.registry import policies
from headgate.sim.feeds import rates
from headgate.sweep.finished_results import result_key
from headgate.sweep.spark_tasks import SweepTask
from headgate.workload import Workload, read_workload

LEAST = 0.03  # seconds of each run, some windows long
WORKLOADS = Path(__file__).parents[2] / "workloads"
DOCUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "sharaf": "Sharaf et al. 2006",
        "almoakar": "Al Moakar 2013",
        "carney": "Carney 2005",
        "mavstream": "Pajjuri 2004",
        "raindrop": "Pielech 2004",
        "targets": "Deadlines, of no document",
    }
)
"""Titles of the documents, by what the names of their workloads begin with."""


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, shortened, under every policy that fits it, with every seed."""

    document: str
    workload: Workload
    policies: Sequence[str]
    tasks: Mapping[str, SweepTask]  # by the key of their results
    bounds: Mapping[str, int]  # seeds, by the key of their lower bounds

    @property
    def name(self) -> str:
        return self.workload.name


def plan(executions: float, seeds: int, only: str = "") -> list[Case]:
    """Every document's workloads whose names contain some text, in the order of documents and names."""
    files = [path for prefix in DOCUMENTS for path in sorted(WORKLOADS.glob(f"{prefix}*.toml"))]
    return [_case(path, executions, seeds) for path in files if only in path.stem]


def _case(path: Path, executions: float, seeds: int) -> Case:
    workload = shortened(read_workload(path), executions)
    fitting = [name for name, policy in policies().items() if misfit(policy, workload) is None]
    numbers = [workload.seed + number for number in range(seeds)]
    inputs = (path.read_text(encoding="utf-8"), workload.duration, _code())
    tasks = {
        (key := result_key(inputs, name, seed)): SweepTask(key, name, {}, seed) for name in fitting for seed in numbers
    }
    bounds = {result_key(inputs, "lower bound", seed): seed for seed in numbers}
    return Case(_document(path), workload, fitting, tasks, bounds)


def _document(path: Path) -> str:
    return next(title for prefix, title in DOCUMENTS.items() if path.stem.startswith(prefix))


def shortened(workload: Workload, executions: float) -> Workload:
    """The workload until operators have worked about so many times, but for `LEAST` seconds, worked through to its end.

    What would change later does not change.
    """
    network, arriving = workload.network(), rates(workload)
    entries = [arriving[edge.stream] for edge in network.edges.values() if edge.stream is not None]
    per_second = sum(entries) * max(1.0, len(network.nodes) / max(1, len(entries)))
    seconds = max(LEAST, _rounded(executions / per_second)) if per_second else workload.duration
    duration = min(workload.duration, seconds)
    changes = tuple(change for change in workload.changes if change.at < duration)
    return replace(workload, duration=duration, drain=True, changes=changes)


def _rounded(seconds: float) -> float:
    """Two digits are enough."""
    return float(f"{seconds:.2g}")


@cache
def _code() -> str:
    """What the results depend on beside the workload: a hash of the simulator's and the policies' code."""
    package = Path(headgate.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in _sources(package))
    return hashlib.sha256(text.encode()).hexdigest()


def _sources(package: Path) -> Iterator[Path]:
    for part in ("core", "metrics", "plan", "policies", "sim", "stats"):
        yield from sorted((package / part).rglob("*.py"))
