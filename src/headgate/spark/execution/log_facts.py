"""Facts about logs and plans that the state machine asks for, answered from memory (see `StreamFacts`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf
from typing import cast

from headgate.model import EventTime
from headgate.plan.fusion_template import template
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.panes.functions import has_panes
from headgate.spark.machine.interfaces import FragmentView, ResumePoint
from headgate.spark.queries.running_query import Logs, RunningQuery


class LogFacts:
    """Facts about the stream logs of an engine."""

    def __init__(self, logs: Logs, *, panes: bool = True) -> None:
        self._logs, self._panes = logs, panes

    def start(self, stream: str) -> int:
        return self._logs[stream].start

    def end(self, stream: str) -> int:
        return self._logs[stream].end

    def frontier(self, stream: str, offset: int) -> EventTime:
        frontier = self._logs[stream].frontier_at(offset)
        return -inf if frontier is None else frontier

    def ended(self, stream: str) -> bool:
        return self._logs[stream].finished_at is not None

    def require(self, stream: str, offset: int) -> None:
        self._logs[stream].require(offset)

    def window_key(self, resume_point: ResumePoint) -> Hashable:
        query_template = template(resume_point.query.plan)
        return resume_point.name if query_template is None else query_template.form

    def folds(self, resume_point: ResumePoint) -> bool:
        return self._panes and has_panes(resume_point.query.plan)

    def closed(self, resume_point: ResumePoint, frontiers: Mapping[str, EventTime]) -> tuple[EventTime, ...]:
        return RunningQuery.of(resume_point).closed(frontiers)

    def can_close(self, resume_point: ResumePoint, fragment: FragmentView, ends: Mapping[str, int]) -> bool:
        return RunningQuery.of(resume_point).can_close(cast(Fragment, fragment), ends, self._logs)
