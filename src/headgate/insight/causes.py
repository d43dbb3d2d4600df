"""Causes of lateness, by which delays are named and summed."""

from __future__ import annotations

from enum import StrEnum

OTHER_WORK = "other work"  # the class, unit and query of runs of which nothing may be told but their times


class Cause(StrEnum):
    """Why a result was late."""

    WINDOW = "window"  # its window had not closed
    LONG_RUN = "long run"  # a run was under way when it became ready
    ORDER = "policy's order"  # another unit was chosen while it was ready
    LOW_RATE = "low rate"  # likewise, and its class gets few tuples, so that a turn of it does little
    OWN_CLASS = "own class"  # its own query or class had earlier work: more comes in than gets done
    SHARED = "shared operator"  # a run had its operators
    COMMIT = "commit"
    SINK = "sink"
    FUSED = "fused too much"  # its run also evaluated less important queries
    OWN_RUN = "own run"
    OTHER = "other work"  # of others, of whom nothing may be told
    AWAY = "not scheduled"  # its query was paused, or was being changed
    FREE = "free worker"  # no run was in the way: the worker was kept for others, or the policy idled
