"""Every check crossed with every policy, plain and with settings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Level
from headgate.policies.checks import CHECKS, RandomRun
from headgate.policies.registry import create, policies

NAMES = tuple(policies())
SETTINGS = ("train=3", "train=0.5", "ratio=0.3, threshold=2", "schedule=3")
OTHER_LEVELS = tuple(f"{name}, level={level}" for name, kind in policies().items() for level in kind.levels[1:])
VARIANTS = (
    *(f"{name}, {SETTINGS[place % len(SETTINGS)]}" for place, name in enumerate(NAMES)),
    "rr, unit=query",
    "rr, quantum=10ms",
    "rr, quantum=1s, unit=query, train=2",
    "wrr, quantum=0",
    "wrr, quantum=1s, leaf=0.5, join=4.0",
    "rr-rb, schedule=2, train=all",
    "aaat, traversal=min-latency",
    "aaat, traversal=min-memory, schedule=2",
    "fixed-priority, push=true",
    "slope-slack, push=true, schedule=2",
    "bucketing, partitions=1",
    "bucketing, partitions=1000, schedule=3",
    "bucketing, push=true, train=all",
    *(f"{name}, sharing={sharing}" for name in ("hr", "hnr", "bsd") for sharing in ("max", "pdt")),
    "hnr, sharing=pdt, level=operator",
    "adaptive, warmup=0s, explore=100ms, every=100ms, sample=50ms",
    "adaptive, warmup=0s, explore=100ms, every=100ms, candidates=[hnr, segment, random, (bsd, clusters=2)]",
    "adaptive, candidates=rr-rb, template=short-delay",
    *(
        f"adaptive, warmup=0s, explore=50ms, every=50ms, select={select}"
        for select in ("best", "ucb", "thompson", "exp3")
    ),
    "adaptive, warmup=0s, explore=50ms, every=50ms, dwell=200ms",
    "cameo, slice=20ms, preempt=class",
    "edf-target, by=deadline, train=2",
    "path-capacity, threshold=2",
    "path-capacity, quantum=10ms",
    "path-capacity, quantum=1s, level=query, threshold=2",
    "segment, threshold=1",
    "segment, quantum=10ms, threshold=1",
    "simplified-segment, quantum=100ms, train=2",
    "simplified-segment, gamma=0.9, threshold=2, schedule=2",
    "bsd, clusters=3",
    "bsd, clusters=4, clustering=uniform, pruning=fagin, level=operator",
    "bsd, clusters=2, batch=cluster, level=path",
    "bsd, clusters=3, pruning=fagin, batch=cluster, sharing=pdt",
    "cqc, period=100ms, schedule=2",
    "abd, slice=20ms",
    "mbd, inversion=dsp, adapt=sa",
    "mbd, inversion=dvp, at=p75, adapt=s, threshold=0.5",
    "mbd, inversion=isp, at=p90, affinity=3",
    "mbd, update=off, inversion=dvp, equal=true",
    "mprr, update=on",
    "per-class-thread, split=true",
)


@pytest.mark.parametrize(
    "text", [*NAMES, *(pytest.param(text, marks=pytest.mark.slow) for text in (*OTHER_LEVELS, *VARIANTS))]
)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check(check: Callable[[str], None], text: str) -> None:
    check(text)


@given(st.sampled_from([*NAMES, *OTHER_LEVELS, *VARIANTS]), st.integers(0), st.integers(1), st.integers(1, 120))
def test_any_course_of_events(text: str, seed: int, shuffle: int, steps: int) -> None:
    """Never idle while something can run, nothing lost, and the order of telling does not matter."""
    told = RandomRun(create(text), seed=seed).step(steps).drain()
    mixed = RandomRun(create(text), seed=seed, shuffle=shuffle).step(steps).drain()
    assert told.decisions == mixed.decisions


def test_every_level_is_one_that_units_are_built_at() -> None:
    for name, kind in policies().items():
        assert kind.levels, name
        assert set(kind.levels) <= set(Level) - {Level.SHARED, Level.SOURCE}, name
