"""A query's target while the engine runs, and what the journal has said of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from headgate.metrics.measures.targets import TargetState, TargetTracker


@dataclass(slots=True)
class FollowedTarget:
    """What happens to the target of one query."""

    tracker: TargetTracker
    told: TargetState = TargetState.MET  # what the journal said last; that it is met goes without saying at first
    told_at: float = -inf
