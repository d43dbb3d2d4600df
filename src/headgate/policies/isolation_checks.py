"""Refuses settings that are to keep classes apart where they cannot: both drivers ask this before they begin.

Only what was given in so many words is judged. What a policy does by default is without effect where it cannot apply.
"""

from __future__ import annotations

from collections.abc import Mapping

from headgate.model import HeadgateError
from headgate.model.isolation import AUTO
from headgate.model.number_text import significant, time_unit
from headgate.policies.contract import Policy
from headgate.policies.settings import ISOLATION


def check_isolation(
    policy: Policy, classes: Mapping[str, float], workers: int, shortest_run: float = 0.0, worker: str = "core"
) -> None:
    """Refuse settings without effect.

    `classes` are those that queries belong to, with their priorities; without any, that is not judged. `shortest_run`
    is the least that a run costs before it touches a tuple; `worker` is what the driver calls its workers.

    >>> from headgate.policies.registry import create
    >>> check_isolation(create("mbd, keep=2"), {"alarm": 60.0, "report": 1.0}, workers=2)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: keep=2 leaves no core for the other classes: there are 2; keep at most 1
    >>> check_isolation(create("mbd, keep=1"), {"report": 1.0}, workers=2)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: keep=1 has no effect: there is only one class, 'report'; leave it out
    >>> check_isolation(create("express"), {"report": 1.0}, workers=1)  # its defaults are not judged
    """
    given = given_settings(policy)
    if given and len(set(classes.values())) == 1:
        name, priority = next(iter(classes.items()))
        one = len(classes) == 1
        found = f"there is only one class, '{name}'" if one else f"all classes have priority {priority:g}"
        hint = "leave it out" if one else "give them different priorities, or leave it out"
        raise HeadgateError(f"{given[0]} has no effect: {found}", hint=hint)
    check_keep(policy, workers, worker)
    check_slice(policy, shortest_run)


def given_settings(policy: Policy) -> list[str]:
    """What was asked to keep classes apart, as it was written; `slice` is another thing if the policy has its own."""
    own = {setting.name for setting in policy.settings}
    names = [setting.name for setting in ISOLATION if setting.name not in own]
    nothing = {"slice": "off", "preempt": "off", "keep": 0}
    asked = {name: policy.given[name] for name in names if policy.given.get(name, nothing[name]) != nothing[name]}
    return [f"{name}={_time(value) if isinstance(value, float) else value}" for name, value in asked.items()]


def check_keep(policy: Policy, workers: int, worker: str = "core") -> None:
    """Refuse to keep all workers for the highest class."""
    keep = policy.isolation.keep
    if "keep" not in policy.given or keep == AUTO or not isinstance(keep, int) or keep < max(1, workers):
        return
    found = f"there are {workers}" if workers > 1 else "there is 1"
    hint = f"keep at most {workers - 1}" if workers > 1 else "leave keep out"
    raise HeadgateError(f"keep={keep} leaves no {worker} for the other classes: {found}", hint=hint)


def check_slice(policy: Policy, shortest_run: float) -> None:
    """Refuse a slice in which not even the cheapest run fits."""
    wanted = policy.isolation.slice
    if "slice" not in policy.given or not isinstance(wanted, int | float) or wanted >= shortest_run:
        return
    raise HeadgateError(
        f"slice={_time(wanted)} is too short: the cheapest run costs {_time(shortest_run)} before its first tuple",
        hint="give some times as much, or slice=auto",
    )


def _time(seconds: float) -> str:
    unit, scale = time_unit([seconds])
    return f"{significant(seconds / scale)}{unit}"
