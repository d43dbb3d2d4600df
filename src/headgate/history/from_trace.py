"""A trace as a history: its calls are repeated, and what the scheduler does is written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headgate.core.scheduler import Scheduler
from headgate.core.trace import TraceCalls
from headgate.history.history import History
from headgate.history.records import Answer, Arrivals, Record, RunRecord, RunStart, Setting
from headgate.model import Run


def history_of_trace(lines: Iterable[str], policies: Sequence[str] = ()) -> History:
    """The history that a trace tells; `policies` as in `core.trace.replay_trace`."""
    return History.of(_records(lines, policies))


def _records(lines: Iterable[str], policies: Sequence[str]) -> Iterator[Record]:
    calls = TraceCalls(lines, policies)
    scheduler = calls.scheduler
    scheduler.explaining = True
    yield Setting(0.0, 0.0, calls.header)
    commits = calls.header["measured"]["fits_overhead"]
    under_way: dict[int, RunStart] = {}
    freed: dict[int, float] = {}
    for line, answer in calls.answers():
        now = line["now"]
        if isinstance(answer, Run):
            under_way[answer.id] = _begun(scheduler, answer)
        elif "finished" in line or "cancelled" in line:
            number: int = line["finished"] if "finished" in line else line["cancelled"]
            begun = under_way.pop(number)
            # An engine commits after a run has been evaluated, but says when only to policies that keep classes apart.
            evaluated = begun.began + line["seconds"] if commits else now
            yield _ended(line, begun, freed.pop(number, evaluated), now)
        elif "freed" in line:
            freed[line["freed"]] = now
        elif line.get("event") == "Arrived":
            yield Arrivals(now, line["stream"], ((line["arrival"], line["tuples"]),))
        elif "event" in line and line["event"] not in ("Frontier", "StatisticsChanged"):
            yield Setting(now, 0.0, calls.state())
    yield from under_way.values()


def _begun(scheduler: Scheduler, run: Run) -> RunStart:
    unit, taken = run.units[0], scheduler.taken
    assert taken is not None, "the scheduler explains"
    return RunStart(
        id=run.id,
        worker=run.worker,
        unit=" and ".join(map(str, run.units)),
        query_class=unit.payer,
        queries=tuple(dict.fromkeys(query for unit in run.units for query in unit.queries)),
        tuples=run.tuples,
        oldest=taken.oldest,
        began=run.began,
        predicted=scheduler.predicted(run.worker),
        takes=run.takes,
        released=taken.released,
        decision=scheduler.decisions,
        recorded_why=scheduler.why,
    )


def _ended(line: dict[str, Any], begun: RunStart, evaluated: float, now: float) -> RunRecord:
    answers = {
        query: Answer(len(times), now - sum(times) / len(times), now - max(times), begun.released)
        for query, times in line.get("answered", ())
        if times
    }
    jobs, read, _ = line.get("work", (0.0, 0.0, 0.0))
    return RunRecord.of_start(
        begun,
        evaluated=min(evaluated, now),
        ended=now,
        jobs=jobs,
        read=read,
        answers=answers,
        cancelled="cancelled" in line,
        error=line.get("error"),
        operators=tuple((operator, taken, out) for operator, taken, out, *_ in line.get("operators", ())),
    )
