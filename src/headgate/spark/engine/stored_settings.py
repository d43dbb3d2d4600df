"""The settings of an engine that its data directory remembers: policy, fusion, and the seed of made-up rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.policies.registry import create
from headgate.spark.machine.definitions import SETTINGS
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, CommittedState

DEFAULT_POLICY = "express"
DEFAULT_FUSE = Fuse.CLASS
DEFAULT_SEED = 1


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine starts with."""

    policy: str
    fuse: Fuse
    seed: int
    policy_error: str = ""  # why the policy that the directory remembers is not used


def settle(commits: CommitLog, policy: str | None, fuse: Fuse | None, seed: int | None) -> EngineSettings:
    """What was given counts and is committed; the rest is as the directory remembers it, or the default.

    A policy from a file of the user's own is not loaded because a directory names it: it must be given again.
    """
    stored = commits.state.catalog.get(SETTINGS, {})
    settings = EngineSettings(
        policy or stored.get("policy") or DEFAULT_POLICY,
        fuse or Fuse(stored.get("fuse", DEFAULT_FUSE)),
        stored.get("seed", DEFAULT_SEED) if seed is None else seed,
    )
    now = {"policy": settings.policy, "fuse": settings.fuse.value, "seed": settings.seed}
    if policy is not None:
        create(policy)  # one that is refused is not committed
    if now != stored:
        commits.append(Commit(catalog={SETTINGS: now}))
    if policy is not None:
        return settings
    usable, error = usable_policy(commits.state)
    return replace(settings, policy=usable, policy_error=error)


def usable_policy(state: CommittedState) -> tuple[str, str]:
    """The policy that a directory remembers, or the default and why the other cannot be used."""
    policy = state.catalog.get(SETTINGS, {}).get("policy") or DEFAULT_POLICY
    try:
        create(policy)
    except HeadgateError as error:
        return DEFAULT_POLICY, f"{error.message}; {DEFAULT_POLICY} decides until it is given again"
    return policy, ""
