"""Which runs some experiments need: equal ones once, whoever asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from headgate.policies.registry import create
from headgate.reproduction import fingerprint
from headgate.reproduction.experiment import Calculation, Experiment, Simulation, Size
from headgate.reproduction.measurements import Key, Measurements
from headgate.reproduction.tasks import CalculationTask, SimulationTask, Task
from headgate.sweep.finished_results import result_key
from headgate.workload import Workload, read_workload

MakeWorkload = Callable[[], Workload]
Results = Mapping[str, Mapping[str, Any]]  # by a task's key


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment, and the keys of its results: for each of its runs one per seed."""

    experiment: Experiment
    keys: Mapping[Key, Sequence[str]]

    @property
    def name(self) -> str:
        return f"{self.experiment.document} {self.experiment.id}"

    @property
    def all_keys(self) -> list[str]:
        return [key for keys in self.keys.values() for key in keys]

    def finished(self, results: Results) -> bool:
        return all(key in results for key in self.all_keys)

    def measurements(self, results: Results) -> Measurements:
        return Measurements({run: [results[key] for key in keys] for run, keys in self.keys.items()})


@dataclass(slots=True)
class Plan:
    """All runs of some experiments by the keys of their results, and the workloads that they simulate."""

    workloads: dict[str, Workload] = field(default_factory=dict)  # by a hash of what they are
    tasks: dict[str, Task] = field(default_factory=dict)
    planned: list[Planned] = field(default_factory=list)


def plan_reproduction(experiments: Sequence[Experiment], folder: Path, *, full: bool) -> Plan:
    """The runs of experiments on the workload files of a folder, checked before anything runs."""
    plan = Plan()
    reader = cache(read_workload)
    for experiment in experiments:
        keys = {}
        for key, run in experiment.runs_of(full).items():
            size = experiment.size(full)
            if isinstance(run, Simulation):
                made = _simulations(run, size, _workload(run, folder, reader), plan)
            else:
                made = _calculations(run, size)
            plan.tasks |= made
            keys[key] = list(made)
        plan.planned.append(Planned(experiment, keys))
    return plan


def _workload(run: Simulation, folder: Path, reader: Callable[[Path], Workload]) -> Workload:
    found = run.workload() if callable(run.workload) else reader(folder / f"{run.workload}.toml")
    return found if run.change is None else run.change(found)


def _simulations(run: Simulation, size: Size, workload: Workload, plan: Plan) -> dict[str, Task]:
    create(run.policy)  # refuses what is no policy
    sized = workload if size.seconds is None else replace(workload, duration=size.seconds)
    own = None if run.measure is None else fingerprint.function(run.measure)
    tasks: dict[str, Task] = {}
    for seed in range(1, size.seeds + 1):
        drawn = sized if run.per_seed is None else run.per_seed(sized, seed)
        name = hashlib.sha256(repr(drawn).encode()).hexdigest()[:20]
        plan.workloads[name] = drawn
        key = result_key(fingerprint.simulator(), name, run.policy, dict(run.settings), run.bin, own, seed)
        tasks[key] = SimulationTask(key, name, run.policy, run.settings, run.bin, run.measure, seed)
    return tasks


def _calculations(run: Calculation, size: Size) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for seed in range(1, size.seeds + 1):
        key = result_key(fingerprint.simulator(), fingerprint.function(run.function), size.seconds, seed)
        tasks[key] = CalculationTask(key, run.function, size, seed)
    return tasks
