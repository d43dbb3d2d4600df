"""Who decides: the policy and fusion of the engine, what else there is, and previews of changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.model import HeadgateError, unknown
from headgate.policies.catalogue import details
from headgate.policies.registry import create, policies
from headgate.server.problems import NotFoundError
from headgate.server.replays import Replays
from headgate.spark import arguments
from headgate.spark.session import Session

_OF_FILES = (":", "/", "\\", ".py")


def check_registered(policy: str) -> str:
    """A policy string that names registered policies alone: nobody makes the server read a file over the network.

    >>> check_registered("bsd, clusters=4")
    'bsd, clusters=4'
    >>> check_registered("adaptive, candidates=[hnr, ./mine.py:Mine]")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: policy: 'adaptive, candidates=[hnr, ./mine.py:Mine]' names a file, and over the network only registered policies can be used; GET /v1/policies lists them
    """  # noqa: E501
    if any(sign in policy for sign in _OF_FILES):
        raise HeadgateError(
            f"'{policy[:100]}' names a file, and over the network only registered policies can be used",
            where="policy",
            hint="GET /v1/policies lists them",
        )
    create(policy)
    return policy


def catalogue() -> list[dict[str, Any]]:
    """All policies that can be used over the network, by name."""
    return [details(policy) for policy in policies().values()]


def described(name: str) -> dict[str, Any]:
    """One policy."""
    registered = policies()
    if name not in registered:
        missing = unknown("policy", name, registered)
        raise NotFoundError(missing.message, hint=missing.hint)
    return details(registered[name])


@dataclass(frozen=True, slots=True)
class Deciding:
    """The policy of the engine."""

    session: Session
    replays: Replays

    def current(self) -> dict[str, Any]:
        overview = self.session.engine.overview()
        error = {"error": overview.policy_error} if overview.policy_error else {}
        return {"policy": overview.policy, "fuse": overview.fuse, **error}

    def definition(self) -> dict[str, Any]:
        """What an ETag is of."""
        return {name: value for name, value in self.current().items() if name != "error"}

    def fusion(self) -> dict[str, Any]:
        """Which queries share jobs, and what the ETag of that is of."""
        return {"fuse": self.current()["fuse"]}

    def set_policy(self, policy: str, fuse: str | None) -> None:
        self.session.set_policy(check_registered(policy), fuse)

    def set_fusion(self, fuse: str) -> None:
        """Change which queries share jobs; the policy stays."""
        scope = arguments.fusion(fuse)
        self.session.engine.set_policy(self.session.engine.overview().policy, scope)

    def preview(
        self, policy: str | None, fuse: str | None, priorities: Mapping[str, float], last: float | None = None
    ) -> dict[str, Any]:
        """Who would gain and who would lose by a change, for each class, by what was recorded in the last seconds."""
        if policy is None and fuse is None and not priorities:
            raise HeadgateError("nothing is to be different", hint='give "policy", "fuse" or "priorities"')
        if fuse is not None:
            arguments.fusion(fuse)
        asked = check_registered(policy or self.session.engine.overview().policy)
        question = {"policies": [asked], "fuse": fuse, "priorities": dict(priorities), "last": last}
        answer = self.replays.ask(self.session, question)
        if asked in answer["failed"]:
            raise HeadgateError(answer["failed"][asked], where=f"policy '{asked}'", hint="choose another one")
        told = answer["policies"][asked]
        return {
            "policy": asked,
            "fuse": fuse,
            "priorities": dict(priorities),
            "classes": {name: _gain(name, told, answer) for name in answer["recorded"]["classes"]},
            "targets": told.get("targets"),
            "targets_now": answer["replayed"].get("targets"),
        }


def _gain(name: str, told: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of a class: `effect` is "gains", "loses", or "within the error" of the replay."""
    changed = told["classes"].get(name, {})
    change, within = changed.get("change"), changed.get("within_error")
    effect = "no results" if change is None else "within the error" if within else "gains" if change < 0 else "loses"
    return {
        "effect": effect,
        "change": change,
        "error": answer["error"].get(name),
        "now": answer["replayed"]["classes"].get(name, {}).get("response_time"),
        "then": changed.get("response_time"),
    }
