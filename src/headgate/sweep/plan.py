"""Which simulations a sweep consists of, and their results in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.model import HeadgateError
from headgate.policies.registry import create
from headgate.policy_files import PolicyFile, load_policies
from headgate.sim import check_size
from headgate.sweep.finished_results import result_key
from headgate.sweep.spark_tasks import SweepTask
from headgate.sweep.varied_settings import Point, Vary, points, varied, varied_policy
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The result of one finished simulation: its measures by dotted path."""

    policy: str
    point: Point
    seed: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every simulation of a sweep, by the key of its result."""

    workload: Workload
    varied: Sequence[Vary]  # without the seed
    seeds: Sequence[int]
    tasks: Mapping[str, SweepTask]
    files: Sequence[PolicyFile] = ()  # of policies of the user's own

    @property
    def varied_names(self) -> list[str]:
        return [setting.name for setting in self.varied]

    def rows(self, values: Mapping[str, Mapping[str, Any]]) -> list[SweepRow]:
        """The finished simulations, in the order of the plan."""
        finished = [task for key, task in self.tasks.items() if key in values]
        return [SweepRow(task.policy, task.point, task.seed, values[task.key]) for task in finished]


def plan_sweep(
    workload: Workload, policies: Sequence[str], vary: Sequence[str], seeds: int, fixed_inputs: object, *, bin: float
) -> Sweep:
    """Every combination of settings, policies and seeds, checked before anything runs.

    `fixed_inputs` is what else decides the results (the workload's text, options of the command): it is part of every
    result's key, so that results of other inputs are not taken for these.
    """
    settings = [Vary.parse(text) for text in vary]
    _refuse_duplicates(settings)
    seed_numbers = _seed_numbers(workload, settings, seeds)
    files = {policy: loaded for policy in policies if (loaded := load_policies(policy))}
    without_seed = [setting for setting in settings if setting.name != "seed"]
    tasks = {}
    for point in points(without_seed):
        check_size(varied(workload, point), bin)  # refuses impossible values
        for policy in policies:
            create(varied_policy(policy, point))
            code = [file.text for file in files.get(policy, ())]
            for seed in seed_numbers:
                key = result_key(fixed_inputs, policy, point, seed, *code)
                tasks[key] = SweepTask(key, policy, point, seed)
    return Sweep(workload, without_seed, seed_numbers, tasks, [file for loaded in files.values() for file in loaded])


def _refuse_duplicates(settings: Sequence[Vary]) -> None:
    for number, setting in enumerate(settings):
        if any(other.name == setting.name for other in settings[:number]):
            raise HeadgateError(f"--vary {setting.name} is given twice", hint="write all of its values in one")


def _seed_numbers(workload: Workload, settings: Sequence[Vary], seeds: int) -> list[int]:
    if seeds < 1:
        raise HeadgateError(f"--seeds must be at least 1, found {seeds}", hint="leave it out for one run of each")
    varied_seed = next((setting for setting in settings if setting.name == "seed"), None)
    if varied_seed is None:
        return [workload.seed + number for number in range(seeds)]
    if seeds > 1:
        raise HeadgateError("--seeds and --vary seed both say which seeds", hint="keep one of them")
    return [int(value) for value in varied_seed.values]
