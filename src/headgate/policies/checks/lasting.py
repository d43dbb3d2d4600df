"""Checks that a policy can be kept: copied, stored, written down and read back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

from headgate.policies.checks.play import Play
from headgate.policies.checks.scene import demand
from headgate.policies.contract import Policy
from headgate.policies.registry import create


def _stored(policy: Policy) -> Policy:
    restored: Policy = pickle.loads(pickle.dumps(policy))
    return restored


_WAYS: dict[str, Callable[[Policy], Policy]] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": _stored}


def survives_copying(text: str) -> None:
    """A copy, made before use or in the midst of it, decides as the policy itself would have."""
    expected = Play(create(text), seed=3).on(60).on(60).drain().decisions
    for way, twin in _WAYS.items():
        play = Play(twin(create(text)), seed=3).on(60)
        play.policy = twin(play.policy)
        demand(play.on(60).drain().decisions == expected, f"{text} decides differently after {way}")


def has_a_plain_form(text: str) -> None:
    """Its string names it, in `repr` too, before and after use, and gives the same policy back."""
    policy = create(text)
    again = create(str(policy))
    same = (type(again), again.level, again.train, again.schedule, again.needs, str(again))
    demand(
        same == (type(policy), policy.level, policy.train, policy.schedule, policy.needs, str(policy)),
        f"{text} reads back from '{policy}' as another policy: '{again}'",
    )
    before = repr(policy)
    demand(str(policy) in before, f"the repr of {text} does not name it: {before}")
    Play(policy).on(60)
    demand(repr(policy) == before, f"{text} has another repr after use: {policy!r}")
