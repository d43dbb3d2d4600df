"""Compiled code gives the same records as the general simulator, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from tests.sim.compiled.random_workloads import differences, workloads

from headgate.model import HeadgateError
from headgate.policies.registry import create
from headgate.sim import simulate
from headgate.sim.compiled import fitting, policy_layout
from headgate.workload import Workload, read_workload

ROOT = Path(__file__).parents[3]
SETTINGS = {  # of every policy that is covered, beside its defaults
    "fcfs": ["level=operator", "train=2"],
    "fifo": ["level=query"],
    "srpt": ["level=operator"],
    "hr": ["level=operator", "sharing=max", "sharing=pdt"],
    "hnr": ["train=all", "ratio=0.5, threshold=3"],
    "bsd": ["level=operator", "train=all"],
    "lsf": ["level=operator", "train=3"],
    "weighted-hr": ["level=operator"],
    "chain": [],
    "greedy": ["train=2"],
    "rr": ["level=query", "train=all"],
    "mrr": ["train=2"],
    "morr": [],
    "rr-rb": ["train=2"],
    "mprr": ["update=on"],
    "cqc": ["period=0.02", "level=query", "period=0.01, inversion=dsp", "period=0.01, inversion=dsp, equal=true"],
    "abd": ["slice=0.004", "slice=0.003, inversion=none", "level=query, slice=0.005, inversion=dvp"],
    "mbd": ["inversion=dsp", "inversion=isp, at=p75", "inversion=dsp, equal=true", "train=2, adapt=s", "update=off"],
}
POLICIES = [name if not more else f"{name}, {more}" for name, others in SETTINGS.items() for more in ("", *others)]


def same(workload: Workload, policy: str) -> None:
    compiled = simulate(workload, policy, path="compiled")
    assert compiled.path == "compiled"
    assert differences(simulate(workload, policy, path="general"), compiled) == []


def test_every_policy_that_is_covered_is_tested() -> None:
    assert set(SETTINGS) == set(fitting.POLICIES) - {"fixed-priority"}  # that one needs QoS graphs, see below


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=6)
@given(workload=workloads())
def test_random_workloads(policy: str, workload: Workload) -> None:
    try:
        same(workload, policy)
    except HeadgateError as error:
        assume("compiled code cannot" in str(error) and fits_not(workload, policy))


@pytest.mark.slow
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy.startswith(("fcfs", "fifo"))])
@settings(max_examples=6)
@given(workload=workloads())
def test_random_workloads_by_age(policy: str, workload: Workload) -> None:
    """Few units for a stream are ordered otherwise, unless they are told to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy_layout, "UNITS_PER_STREAM", 0)
        test_random_workloads.hypothesis.inner_test(policy, workload)


def fits_not(workload: Workload, policy: str) -> bool:
    """Whether a workload is one of the few that compiled code may refuse."""
    return policy.startswith(("abd", "mbd", "cqc")) and "hot" in repr(workload) and create(policy).wants_answers


LONG = ["fcfs", "hnr", "bsd", "rr", "rr, level=query", "rr-rb", "mbd", "mbd, inversion=dsp", "mprr", "cqc", "abd"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", LONG)
@pytest.mark.parametrize(
    ("file", "seconds"), [("sharaf", 0.4), ("almoakar-5G", 0.15), ("almoakar-3D_6", 0.1), ("sharaf-sharing", 0.1)]
)
def test_workloads_of_the_documents(policy: str, file: str, seconds: float) -> None:
    workload = replace(read_workload(ROOT / f"workloads/{file}.toml"), duration=seconds)
    if file == "sharaf-sharing" and create(policy).wants_answers:
        pytest.skip("shared queries under a policy that hears of response times")
    same(workload, policy)


@pytest.mark.slow
def test_a_policy_by_qos_graphs() -> None:
    workload = replace(read_workload(ROOT / "workloads/carney-4.2.toml"), duration=0.5, decision_cost=0.0)
    same(workload, "fixed-priority")


@pytest.mark.slow
def test_tuples_that_are_read_after_the_end_count_as_arrived() -> None:
    workload = read_workload(ROOT / "examples/example-1.toml")
    stream = replace(workload.streams[0], arrivals="poisson, rate=20000", source_cost=0.001)
    same(replace(workload, streams=(stream,), duration=5.0, drain=False), "hnr")


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "drain"), [(1, True), (3, False)])
def test_more_than_one_block(cores: int, drain: bool) -> None:
    """Many tuples of few queries: arrivals and outcomes come in several blocks, results are taken several times."""
    workload = read_workload(ROOT / "examples/example-1.toml")
    stream = replace(workload.streams[0], arrivals="poisson, rate=200000")
    workload = replace(workload, streams=(stream,), duration=1.0, load=0.95, cores=cores, drain=drain)
    same(workload, "fcfs, level=operator")
