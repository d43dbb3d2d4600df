"""Which queries were scheduled at which times, and how runs were put together, as the settings of a history say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from math import inf

from headgate.history.records import Setting
from headgate.insight.causes import Cause
from headgate.model import HeadgateError
from headgate.policies.registry import create

Stretch = tuple[float, float]  # from, to


class Schedule:
    """What settings say, each from its time on.

    >>> without = Setting(4.0, 0.0, {"queries": []})
    >>> schedule = Schedule([Setting(0.0, 0.0, {"queries": [{"name": "q"}]}), without])
    >>> schedule.has("q"), schedule.pieces("q", 1.0, 9.0)
    (False, [(1.0, 4.0)])
    """

    def __init__(self, settings: Sequence[Setting]) -> None:
        self.since: dict[str, float] = {}  # from when on the queries of the newest setting have been scheduled
        self._known = bool(settings)
        self._gaps: dict[str, list[Stretch]] = {}  # by query: between two settings that have it, or after the last one
        self._fused = [(setting.at, setting.header.get("fuse", "all") == "all") for setting in settings]
        self._policies = [(setting.at, str(setting.header.get("policy", ""))) for setting in settings]
        for setting in settings:
            names = [query["name"] for query in setting.header.get("queries", ())]
            for gone in self.since.keys() - set(names):
                self._gaps.setdefault(gone, []).append((setting.at, inf))
            for back in (name for name in names if name not in self.since and name in self._gaps):
                self._gaps[back][-1] = self._gaps[back][-1][0], setting.at
            self.since = {name: self.since.get(name, setting.at) for name in names}

    def has(self, query: str) -> bool:
        """Whether a query is scheduled at the end; it may have been stopped, or be paused."""
        return query in self.since or not self._known

    def pieces(self, query: str, since: float, upto: float) -> list[Stretch]:
        """The pieces of a stretch of time in which a query was scheduled."""
        found = []
        for gone, back in [*self._gaps.get(query, ()), (inf, inf)]:
            if since < min(gone, upto):
                found.append((since, min(gone, upto)))
            since = max(since, back)
        return found

    def mixed_by(self, moment: float) -> Cause:
        """Why a run that began at a moment has queries of several classes: fusion, or an operator that they share."""
        place = max(0, bisect_right(self._fused, (moment, True)) - 1)
        fused = self._fused[place][1] if self._fused else True
        return Cause.FUSED if fused else Cause.SHARED

    def keeps_workers(self, moment: float) -> bool:
        """Whether the policy of a moment keeps workers for the most important class."""
        place = max(0, bisect_right(self._policies, moment, key=lambda one: one[0]) - 1)
        return bool(self._policies) and _keeps_workers(self._policies[place][1])


@cache
def _keeps_workers(policy: str) -> bool:
    """Whether a policy does so by its settings; of one that is not registered nobody knows.

    >>> _keeps_workers("express"), _keeps_workers("fcfs"), _keeps_workers("./mine.py:Mine")
    (True, False, False)
    """
    try:
        return create(policy).isolation.keep != 0
    except HeadgateError:
        return False
