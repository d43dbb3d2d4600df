"""What logs and plans say, from memory: the state machine asks, and is answered at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import inf
from typing import cast

from headgate.plan.template import template
from headgate.spark.compile.fragments import Piece
from headgate.spark.engine.fragments import Moment, Standing
from headgate.spark.engine.fragments import Piece as AnyPiece
from headgate.spark.queries.running_query import Logs, RunningQuery


class LogFacts:
    """Facts of the logs of an engine."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    def start(self, stream: str) -> int:
        return self._logs[stream].start

    def end(self, stream: str) -> int:
        return self._logs[stream].end

    def frontier(self, stream: str, offset: int) -> Moment:
        found = self._logs[stream].frontier_at(offset)
        return -inf if found is None else found

    def ended(self, stream: str) -> bool:
        return self._logs[stream].finished_at is not None

    def require(self, stream: str, offset: int) -> None:
        self._logs[stream].require(offset)

    def window_key(self, standing: Standing) -> Hashable:
        found = template(standing.query.plan)
        return standing.name if found is None else found.form

    def closed(self, standing: Standing, frontiers: Mapping[str, Moment]) -> tuple[Moment, ...]:
        return RunningQuery.of(standing).closed(frontiers)

    def can_close(self, standing: Standing, piece: AnyPiece, ends: Mapping[str, int]) -> bool:
        return RunningQuery.of(standing).can_close(cast(Piece, piece), ends, self._logs)
