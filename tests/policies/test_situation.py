"""The short form, and what a situation makes of it."""

from __future__ import annotations

import pytest

from headgate.model import HeadgateError
from headgate.policies.baseline.fifo import FirstInFirstOut
from headgate.policies.checks import Situation
from headgate.policies.checks.short_plans import build_plan


def test_what_waits_and_since_when() -> None:
    chains = {"p": ["select", "select"], "q": "select"}
    view = Situation(chains, waiting={"p": [2, 0], "q": 3}, heads={"p": [0.5, 0.0], "q": 0.25}).view(FirstInFirstOut())
    first, second, other = view.units.values()
    assert [view.waiting(unit) for unit in (first, second, other)] == [2, 0, 3]
    assert [view.oldest(unit) for unit in (first, second, other)] == [0.5, float("inf"), 0.25]
    assert list(view.ready.values()) == [first, other]


def test_part_of_a_view() -> None:
    view = Situation({"p": "select", "q": "select"}).view(FirstInFirstOut())
    part = view.only(lambda unit: "q" in unit.queries)
    assert [unit.queries for unit in part.ready.values()] == [("q",)]
    assert 0 not in part.ready
    assert 0 in view.ready


def test_sizes_and_classes() -> None:
    situation = Situation(
        {"p": "project, bytes=4", "q": "select"}, classes={"p": "gold"}, priorities={"gold": 6.0}, sizes={"s": 16}
    )
    stats, view = situation.stats(), situation.view(FirstInFirstOut())
    assert [stats.size(unit) for unit in view.units.values()] == [16, 16]
    assert [stats.class_priority(unit) for unit in view.units.values()] == [6.0, 1.0]
    assert [node.operator.given.bytes for node in view.network.nodes.values()] == [4, None]


@pytest.mark.parametrize(
    ("short", "told"),
    [
        ("selekt", "did you mean 'select'"),
        ("select, costs=1ms", "did you mean 'cost'"),
        ("select, cost=cheap", "cost is not a duration, found 'cheap'"),
        ([["select"], ["select"]], "does not end in one operator"),
        ([["select"], ["select"], "project"], "takes 1 inputs, found 2"),
    ],
)
def test_mistakes_are_told(short: str | list[str], told: str) -> None:
    with pytest.raises(HeadgateError, match=told):
        build_plan(short)
