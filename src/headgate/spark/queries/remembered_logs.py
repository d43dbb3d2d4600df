"""Logs that remember their answers, for one step of a run: the members of a group all ask the same."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from headgate.spark.queries.running_query import Logs
from headgate.spark.store.log.stream_log import StreamLog


class _RememberedLog:
    """A log whose answers to questions about offsets are looked up once.

    What is asked here of offsets that exist does not change: lateness and frontiers are decided when rows are appended.
    """

    def __init__(self, log: StreamLog) -> None:
        self._log = log
        self.frontier_at = cache(log.frontier_at)
        self.late = cache(log.late)
        self.segments = cache(log.segments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class _RememberedLogs(dict[str, StreamLog]):
    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    def __missing__(self, name: str) -> StreamLog:
        log = self[name] = cast(StreamLog, _RememberedLog(self._logs[name]))
        return log


def remembered(logs: Logs) -> Logs:
    """The logs as one step of a run asks them."""
    return _RememberedLogs(logs)
