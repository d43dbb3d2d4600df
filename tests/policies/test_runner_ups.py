"""Policies in which units take turns say whose turn is next, and that one it is."""

from __future__ import annotations

import pytest

from headgate.model import Choice, Unit, Why
from headgate.policies.checks import Situation
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.contract import View
from headgate.policies.registry import create

OF = {"alarm": "gold", "map": "gold", "report": "tin", "archive": "tin"}
WORTH = {"gold": 2.0, "tin": 1.0}


def explained(text: str) -> list[Why]:
    """Decisions among queries of which each has a tuple; nothing comes after that."""
    policy = create(text)
    view = Situation(dict.fromkeys(OF, "select, cost=1ms"), classes=OF, priorities=WORTH).view(policy)
    policy.seed(1)
    policy.changed(view)
    for unit in view.ready.values():
        policy.ready(view, unit)
    told = []
    while isinstance(choice := policy.choose(view, 0), Choice):
        told.append(policy.explain(view, choice))
        for unit in choice.units:
            view.taken.add(unit.id)
    return told


@pytest.mark.parametrize("text", ["rr", "taat", "baat", "aaat", "mrr", "morr", "wrr, quantum=0", "rr-rb", "mbd"])
def test_who_is_named_as_next_is_chosen_next(text: str) -> None:
    told = explained(text)
    assert len(told) == len(OF)
    assert [why.runner_up for why in told] == [*(why.winner for why in told[1:]), None]
    for why in told[:-1]:
        assert f"next is {why.runner_up}" in why.reason


@pytest.mark.parametrize("text", ["cqc", "abd", "per-class-thread", "lottery", "random"])
def test_reasons_are_told_in_words(text: str) -> None:
    for why in explained(text)[:-1]:
        assert why.runner_up is not None
        assert why.runner_up in why.reason


def test_a_class_goes_on_while_its_quota_lasts() -> None:
    first, second, *_ = explained("cqc, period=30")
    assert first.reason == f"it is the turn of class gold; next is {second.winner}, in the turn of class gold"
    assert first.runner_up == second.winner


def test_a_policy_of_its_own_kind_names_who_has_waited_longest() -> None:
    class Own(type(create("random"))):  # type: ignore[misc]
        def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
            return ""

    run = RandomRun(Own(), seed=3)
    seen: list[tuple[str | None, list[str]]] = []

    def watch(view: View, choice: Choice) -> None:
        others = [unit for unit in view.ready.values() if unit is not choice.units[0]]
        longest = min(map(view.oldest, others), default=0.0)
        why = run.policy.explain(view, choice)
        seen.append((why.runner_up, [str(unit) for unit in others if view.oldest(unit) == longest]))

    run.watch = watch
    run.step(60)
    assert any(others for _, others in seen)
    assert all(name in others if others else name is None for name, others in seen)
