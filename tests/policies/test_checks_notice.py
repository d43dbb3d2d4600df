"""The checks are worth something only if they fail for a policy that breaks the rule."""

from __future__ import annotations

from pickle import PicklingError

import pytest
from tests.policies import wrong

from headgate.model import HeadgateError
from headgate.policies import registry
from headgate.policies.checks import CHECKS, check
from headgate.policies.contract import Policy

NOTICED = {
    wrong.ChoosesTheBlocked: "chooses_only_what_can_run",
    wrong.NeverIdle: "is_idle_without_work",
    wrong.ForgetsTheWoken: "loses_nothing",
    wrong.FirstCandidate: "ignores_the_order_of_candidates",
    wrong.Unseeded: "repeats_itself",
    wrong.ListsAll: "lists_no_more_than_asked",
    wrong.Undeclared: "reads_only_what_it_declares",
    wrong.Unread: "reads_all_that_it_declares",
    wrong.Meddles: "leaves_statistics_alone",
    wrong.Unpicklable: "survives_copying",
    wrong.CountsInItsName: "has_a_plain_form",
    wrong.Undocumented: "is_documented",
    wrong.Unbounded: "refuses_bad_settings",
    wrong.ExplainsAnother: "explains_its_choice",
    wrong.DisturbedByQuestions: "explains_its_choice",
}
BY_NAME = {function.__name__: function for function in CHECKS}


def enter(monkeypatch: pytest.MonkeyPatch, kind: type[Policy]) -> str:
    """Register a policy for the time of one test."""
    registry.policies()
    monkeypatch.setattr(registry, "_POLICIES", dict(registry._POLICIES))
    registry.register("tried")(kind)
    return "tried"


@pytest.mark.parametrize("kind", NOTICED, ids=lambda kind: kind.__name__)
def test_a_broken_rule_is_noticed(kind: type[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    name = enter(monkeypatch, kind)
    with pytest.raises((AssertionError, AttributeError, HeadgateError, PicklingError)):
        BY_NAME[NOTICED[kind]](name)


def test_a_wrong_example_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = enter(monkeypatch, wrong.Sound)
    monkeypatch.setattr(wrong.Sound, "__doc__", str(wrong.Sound.__doc__).replace("2", "3"))
    with pytest.raises(AssertionError, match="the example of Sound fails"):
        BY_NAME["is_documented"](name)


@pytest.mark.parametrize("kind", [wrong.Sound, wrong.SoundByClass])
def test_a_policy_from_outside_passes_all(kind: type[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    check(enter(monkeypatch, kind))


def test_every_check_is_seen_to_notice() -> None:
    assert set(NOTICED.values()) == set(BY_NAME)
