"""All that a replay needs to know of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.core import Event
from headgate.history.history import History
from headgate.model import HeadgateError
from headgate.what_if.job_work import JobWork
from headgate.what_if.operator_work import OperatorWork
from headgate.what_if.response_times import Judged, recorded_times
from headgate.what_if.settings_over_time import SettingsOverTime
from headgate.what_if.sinks import SinkTimes, learn_sinks, recorded_delays, without_sink_waits
from headgate.what_if.stream_arrivals import Chunk
from headgate.what_if.windows import held_queues

UNREAD = 0.02  # of all tuples: if more were left at the end, the history was cut off while work waited


@dataclass(frozen=True, slots=True)
class Learned:
    """Arrivals, what runs cost and give, what was scheduled; and how it went, to compare with."""

    settings: SettingsOverTime
    arrivals: Mapping[str, list[Chunk]]
    began: float
    ended: float
    drained: bool  # at the end nothing waited
    work: OperatorWork | JobWork
    recorded: Judged
    runs: int
    sinks: Mapping[str, SinkTimes]  # by query
    changes: Sequence[tuple[float, Event]]  # that are to happen again

    @classmethod
    def of(cls, history: History) -> Learned:
        settings = SettingsOverTime.of(history)
        if not any(history.arrivals.values()):
            raise HeadgateError("it tells of no arrivals", hint="record it while tuples come")
        arrivals = {stream: list(chunks) for stream, chunks in history.arrivals.items() if chunks}
        began = min(chunks[0][0] for chunks in arrivals.values())
        ended = max([history.ended, *(chunks[-1][0] for chunks in arrivals.values())])
        last = settings.last
        recorded = Judged.of(last.policy, recorded_times(history), last.queries, last.classes, recorded_delays(history))
        sinks = learn_sinks(history)
        measured = settings.header["measured"]
        work: OperatorWork | JobWork
        if measured["fits_overhead"]:
            work = JobWork.learn(history.runs, settings.networks(), began, ended)
        else:
            work = OperatorWork.learn(history.runs, settings.networks(), measured["run_overhead"])
        return cls(
            settings,
            arrivals,
            began,
            ended,
            _drained(history, arrivals, settings),
            work,
            recorded,
            len(history.runs),
            sinks,
            without_sink_waits(settings.changes, history, sinks),
        )

    @property
    def on_spark(self) -> bool:
        return isinstance(self.work, JobWork)


def _drained(history: History, arrivals: Mapping[str, list[Chunk]], settings: SettingsOverTime) -> bool:
    """Whether runs went on until hardly anything waited, held tuples aside."""
    waited: dict[int, int] = {}
    for network in settings.networks():
        held = {queue for query in network.queries for queue in held_queues(network, query)}
        for queue, edge in network.edges.items():
            if edge.stream is not None and queue not in held:
                waited[queue] = sum(count for _, count in arrivals.get(edge.stream, ()))
    arrived = sum(waited.values())
    taken = sum(
        behind - first
        for run in history.runs
        if not run.cancelled
        for queue, first, behind in run.takes
        if queue in waited
    )
    return arrived - taken <= UNREAD * arrived
