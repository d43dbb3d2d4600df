"""Which experiments there are, and which runs they need."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.reproduction import Experiment, Simulation, Size
from headgate.reproduction.catalogue import own_folder, read_catalogue
from headgate.reproduction.outcome import Outcome
from headgate.reproduction.plan import Plan, plan_reproduction
from headgate.reproduction.tasks import SimulationTask, run_task
from headgate.workload import Workload

ROOT = Path(__file__).parents[2]
KEYS = """
from headgate.reproduction.catalogue import own_folder, read_catalogue
from headgate.reproduction.plan import plan_reproduction
catalogue = read_catalogue(own_folder())
print(*plan_reproduction(catalogue.chosen("sharaf"), catalogue.workloads, full=False).tasks)
"""


def plan(folder: Path, *ids: str, full: bool = False) -> Plan:
    catalogue = read_catalogue(folder)
    return plan_reproduction(catalogue.chosen("paper", ids), catalogue.workloads, full=full)


def test_experiments_are_found_in_the_order_of_their_numbers(experiments: Path) -> None:
    catalogue = read_catalogue(experiments)
    assert [each.id for each in catalogue.chosen(None)] == ["F1", "F2", "F10"]
    assert [each.id for each in catalogue.chosen("Paper", ["f10", "F1"])] == ["F10", "F1"]
    assert catalogue.document("paper").title == "A paper"


@pytest.mark.parametrize(
    ("document", "ids", "message"),
    [
        ("papers", [], "unknown document 'papers'; known: paper"),
        ("paper", ["F3"], "unknown result of paper 'F3'; known: F1, F2, F10"),
    ],
)
def test_what_is_unknown_names_what_is_known(experiments: Path, document: str, ids: list[str], message: str) -> None:
    with pytest.raises(HeadgateError) as error:
        read_catalogue(experiments).chosen(document, ids)
    assert str(error.value) == message


def test_a_folder_without_experiments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="has no experiments"):
        read_catalogue(tmp_path)


def test_equal_runs_of_several_experiments_are_one(experiments: Path) -> None:
    assert len(plan(experiments, "F1").tasks) == 4
    assert len(plan(experiments, "F10").tasks) == 3
    assert len(plan(experiments).tasks) == 5  # fcfs, srpt, hnr; fcfs with a measure of its own; the calculation
    assert len(plan(experiments, full=True).tasks) == 10  # two seeds
    assert not plan(experiments).tasks.keys() & plan(experiments, full=True).tasks.keys() - _calculated(experiments)


def _calculated(experiments: Path) -> set[str]:
    """What does not depend on the size."""
    return {key for key, task in plan(experiments).tasks.items() if not isinstance(task, SimulationTask)}


@pytest.mark.parametrize("other", [{"seeds": 2}, {"seconds": 0.5}])
def test_runs_of_another_size_are_others(experiments: Path, other: dict[str, float]) -> None:
    catalogue = read_catalogue(experiments)
    (made,) = catalogue.chosen("paper", ["F10"])
    size = Size(seconds=other.get("seconds"), seeds=int(other.get("seeds", 1)))
    first, second = (
        plan_reproduction([each], catalogue.workloads, full=False).tasks for each in (made, replace(made, quick=size))
    )
    shared = 3 if "seeds" in other else 0
    assert len(first.keys() & second.keys()) == shared
    assert len(second) == 3 * size.seeds


def test_every_seed_may_draw_its_own_workload(experiments: Path) -> None:
    catalogue = read_catalogue(experiments)
    (made,) = catalogue.chosen("paper", ["F10"])
    runs = {
        key: replace(run, per_seed=_longer) for key, run in made.runs_of(True).items() if isinstance(run, Simulation)
    }
    planned = plan_reproduction([replace(made, runs=runs)], catalogue.workloads, full=True)
    assert sorted(workload.duration for workload in planned.workloads.values()) == [3.0, 4.0]  # 2 s and the seed
    assert {planned.workloads[task.workload].duration - task.seed for task in _simulations(planned)} == {2.0}


def _longer(workload: Workload, seed: int) -> Workload:
    return replace(workload, duration=workload.duration + seed)


def _simulations(planned: Plan) -> list[SimulationTask]:
    return [task for task in planned.tasks.values() if isinstance(task, SimulationTask)]


def test_keys_are_the_same_in_every_process() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", KEYS],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != "\n"


def test_the_outcome_of_an_experiment(experiments: Path) -> None:
    made = plan(experiments)
    results = {key: run_task(task, made.workloads) for key, task in made.tasks.items()}
    assert [result.error for result in results.values()] == [""] * 5
    values = {key: result.values for key, result in results.items()}
    outcomes = [Outcome.of(each.experiment, each.measurements(values)) for each in made.planned]
    assert [outcome.verdict.value for outcome in outcomes] == ["partly", "not", "reproduced"]
    assert not made.planned[0].finished({})


def test_a_failing_run_says_why(experiments: Path) -> None:
    task = next(iter(plan(experiments, "F10").tasks.values()))
    assert isinstance(task, SimulationTask)
    failed = run_task(replace(task, measure=_fail), plan(experiments, "F10").workloads)
    assert failed.error == "ZeroDivisionError: division by zero"
    assert failed.values == {}


def _fail(records: object) -> dict[str, float]:
    return {"one": 1 / 0}


@pytest.mark.parametrize(
    "experiment", read_catalogue(own_folder()).experiments, ids=lambda each: f"{each.document}-{each.id}"
)
def test_every_experiment_of_the_checkout_can_be_planned(experiment: Experiment) -> None:
    catalogue = read_catalogue(own_folder())
    for full in (False, True):
        assert plan_reproduction([experiment], catalogue.workloads, full=full).tasks
    assert experiment.quick.seeds <= 5
    assert experiment.claim
    assert experiment.source
