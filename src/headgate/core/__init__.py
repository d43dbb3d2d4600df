"""The pure scheduling core: events in, runs out, and traces of both."""

from headgate.core.events import (
    Arrived,
    Change,
    Declared,
    Event,
    Frontier,
    PolicyChanged,
    PriorityChanged,
    QueriesAdded,
    QueryAdded,
    QueryMoved,
    QueryRemoved,
    StatisticsChanged,
    Undeclared,
)
from headgate.core.scheduler import Scheduler
from headgate.core.trace import RecordingScheduler, TraceReplay, explain_decision, replay_trace

__all__ = [
    "Arrived",
    "Change",
    "Declared",
    "Event",
    "Frontier",
    "PolicyChanged",
    "PriorityChanged",
    "QueriesAdded",
    "QueryAdded",
    "QueryMoved",
    "QueryRemoved",
    "RecordingScheduler",
    "Scheduler",
    "StatisticsChanged",
    "TraceReplay",
    "Undeclared",
    "explain_decision",
    "replay_trace",
]
