"""Traces: every call into the scheduler, in order, with its `now`; and their replay.

A trace is lines of JSON. The first holds the network, the policy and the seed; each further line is one call:
an arrival, a frontier, a change, a worker's request with the answer it got, the end of a run. Replay repeats the calls
and must give the same answers.

A trace may name a policy of a file (`./mine.py:Mine`). That is code, and a trace may come from anywhere: such a policy
is used only if the caller has loaded it and gives its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from headgate.core import events
from headgate.core.events import Arrived, Event, Frontier, PolicyChanged
from headgate.core.scheduler import Scheduler
from headgate.model import (
    Answered,
    HeadgateError,
    Idle,
    OperatorOutcome,
    Outcome,
    Produced,
    Run,
    Train,
    Why,
    Work,
    WorkerId,
)
from headgate.model.codec import from_plain, to_plain
from headgate.model.policy_names import names_from_files, same_file_and_class
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.policies.guarded import checked_if_from_file
from headgate.stats import Measured, OperatorStatistics

VERSION = 1
_MEASURED = ("rates", "run_overhead", "train", "fits_overhead")
# What a call with wrong values may raise.
_DAMAGE_ERRORS = (AttributeError, LookupError, StopIteration, TypeError, ValueError)


class RecordingScheduler(Scheduler):
    """A scheduler that writes every call to a trace, with the explanation of each decision."""

    def __init__(self, network: Network, policy: str, *, write: Callable[[str], Any], **settings: Any) -> None:
        super().__init__(network, policy, **settings)
        self.explaining = True
        self._write = write
        self._line(header(self))

    @property
    def wants_answers(self) -> bool:
        return True  # a trace tells when results came, whatever the policy decides by

    def event(self, event: Event, now: float) -> None:
        super().event(event, now)
        self._line({"now": now, "event": type(event).__name__, **_event_fields(event)})

    def next(self, worker: WorkerId, now: float) -> Run | Idle:
        self.why = None
        answer = super().next(worker, now)
        line: dict[str, Any] = {"now": now, "next": worker, **_answer(answer)}
        if self.why is not None:
            told = asdict(replace(self.why, waiting=()))  # a replay tells who else waited: that would be long
            line["why"] = {key: value for key, value in told.items() if value}
        self._line(line)
        return answer

    def finished(self, outcome: Outcome, now: float) -> None:
        super().finished(outcome, now)
        self._line({"now": now, "finished": outcome.run.id, **_outcome_fields(outcome)})

    def to_cancel(self, now: float) -> Run | None:
        run = super().to_cancel(now)
        if run is not None:
            self._line({"now": now, "to_cancel": run.id})
        return run

    def cancelled(self, outcome: Outcome, now: float) -> None:
        super().cancelled(outcome, now)
        self._line({"now": now, "cancelled": outcome.run.id, **_outcome_fields(outcome)})

    def freed(self, run: Run, now: float) -> None:
        super().freed(run, now)
        if self.policy.isolation.active:
            self._line({"now": now, "freed": run.id})

    def _line(self, value: dict[str, Any]) -> None:
        self._write(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n")


def header(scheduler: Scheduler) -> dict[str, Any]:
    """The first line of a trace: everything needed to build the same scheduler again."""
    network, measured = scheduler.network, scheduler.measured
    return {
        "trace": VERSION,
        "policy": str(scheduler.policy),
        "seed": scheduler.seed,
        "learn": scheduler.learn,
        "rest": scheduler.rest,
        "workers": scheduler.workers,
        "sources_last": scheduler.sources_last,
        "train": to_plain(scheduler.train),
        "fuse": scheduler.fuse.value,
        "share": network.share,
        "reads": network.reads,
        "streams": to_plain(list(network.streams.values())),
        "tables": to_plain(list(network.tables.values())),
        "classes": to_plain(list(network.classes.values())),
        "queries": to_plain(list(network.queries.values())),
        "measured": {key: getattr(measured, key) for key in _MEASURED},
        "operators": {str(number): asdict(operator) for number, operator in measured.operators.items()},
    }


@dataclass(frozen=True, slots=True)
class TraceReplay:
    """The outcome of replaying a trace: how many answers it gave, and where they differ from the recorded ones."""

    policy: str
    calls: int
    decisions: int
    runs: int
    differences: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not self.differences


def replay_trace(lines: Iterable[str], policies: Sequence[str] = ()) -> TraceReplay:
    """Repeat a trace and compare every answer with the recorded one.

    `policies` are loaded policies of files that may stand for those the trace names, by file name and class.
    """
    calls = 0
    trace_calls = TraceCalls(lines, policies)
    differences = trace_calls.differences
    try:
        for calls, (line, answer) in enumerate(trace_calls.answers(), 1):  # noqa: B007
            if answer is not None:
                recorded = {key: line[key] for key in ("run", "idle") if key in line}
                if (replayed := _answer(answer)) != recorded:
                    trace_calls.differs(f"recorded {recorded}, replayed {replayed}")
    except HeadgateError as error:
        if not differences:
            raise
        differences.append(str(error))  # what follows a difference may not fit any more
    scheduler = trace_calls.scheduler
    return TraceReplay(str(scheduler.policy), calls, scheduler.decisions, scheduler.runs, differences)


def explain_decision(lines: Iterable[str], number: int, policies: Sequence[str] = ()) -> Why:
    """Why the decision of that number (from 1) was made, by replay up to it."""
    trace_calls = TraceCalls(lines, policies)
    scheduler = trace_calls.scheduler
    scheduler.explaining = True
    for _, answer in trace_calls.answers():
        if isinstance(answer, Run) and scheduler.decisions == number and scheduler.why is not None:
            return scheduler.why
    raise HeadgateError(f"there is no decision {number}", hint=f"the trace has {scheduler.decisions}, counted from 1")


class TraceCalls:
    """Feeds the calls of a trace to a fresh scheduler."""

    def __init__(self, lines: Iterable[str], policies: Sequence[str]) -> None:
        self._lines = iter(lines)
        self._policies = policies
        self.number = 0
        self.differences: list[str] = []
        first = self._read()
        if first is None or first.get("trace") != VERSION:
            raise HeadgateError("this is not a trace of this version", hint="record one with --record t.jsonl")
        self.header = first
        try:
            self.scheduler = scheduler_of({**first, "policy": replayable(first["policy"], policies)})
        except _DAMAGE_ERRORS as error:
            raise self._damaged(f"this is not the beginning of a trace: {error!r}") from None

    def answers(self) -> Iterator[tuple[dict[str, Any], Run | Idle | None]]:
        """Every call, with the answer where the call has one."""
        while (line := self._read()) is not None:
            try:
                yield line, self._repeat(line)
            except _DAMAGE_ERRORS as error:
                raise self._damaged(f"this call cannot be repeated: {error!r}") from None
            except HeadgateError as error:
                raise error.at(f"line {self.number}") from None

    def state(self) -> dict[str, Any]:
        """The header of a trace that would begin now."""
        return header(self.scheduler)

    def differs(self, how: str) -> None:
        self.differences.append(f"line {self.number}: {how}")

    def _damaged(self, message: str) -> HeadgateError:
        return HeadgateError(message, where=f"line {self.number}", hint="the trace is damaged: record it again")

    def _repeat(self, line: dict[str, Any]) -> Run | Idle | None:
        scheduler, now = self.scheduler, line["now"]
        if "next" in line:
            return scheduler.next(line["next"], now)
        if "finished" in line:
            scheduler.finished(_outcome(line, line["finished"], scheduler), now)
        elif "to_cancel" in line:
            run = scheduler.to_cancel(now)
            if run is None or run.id != line["to_cancel"]:
                replayed = "none" if run is None else f"run {run.id}"
                self.differs(f"recorded that run {line['to_cancel']} is to be cancelled, replayed {replayed}")
        elif "cancelled" in line:
            scheduler.cancelled(_outcome(line, line["cancelled"], scheduler), now)
        elif "freed" in line:
            scheduler.freed(_run(line["freed"], scheduler), now)
        else:
            event = _event(line)
            if isinstance(event, PolicyChanged):
                event = replace(event, policy=replayable(event.policy, self._policies))
            scheduler.event(event, now)
        return None

    def _read(self) -> dict[str, Any] | None:
        text = next(self._lines, None)
        if text is None:
            return None
        self.number += 1
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise TypeError("not an object")
        except (ValueError, TypeError) as error:
            raise HeadgateError(
                f"this is not a line of a trace: {error}", where=f"line {self.number}", hint="is the file cut short?"
            ) from None
        return line


def replayable(recorded: str, given: Sequence[str]) -> str:
    """The policy as it is known here; one of a file only if the caller gives it."""
    for name in names_from_files(recorded):
        same = next((other for other in given if same_file_and_class(name, other)), None)
        if same is None:
            raise HeadgateError(
                f"the trace names policy '{name}', code in a file, which is read only if you say so",
                hint=f"look at the file, then add --policy {name}",
            )
        recorded = recorded.replace(name, same)
    return recorded


def scheduler_of(first: Mapping[str, Any]) -> Scheduler:
    """The scheduler that the first line of a trace tells of."""
    parts = (from_plain(first[key]) for key in ("queries", "streams", "classes", "tables"))
    network = Network.of(*parts, share=first["share"], reads=first.get("reads", False))
    measured = Measured({int(key): OperatorStatistics(**statistics) for key, statistics in first["operators"].items()})
    for key in _MEASURED:
        setattr(measured, key, first["measured"][key])
    train: Train = from_plain(first["train"])
    return Scheduler(
        network,
        first["policy"],
        measured=measured,
        learn=first["learn"],
        train=train,
        fuse=Fuse(first["fuse"]),
        seed=first["seed"],
        rest=first.get("rest", 0.0),
        workers=first.get("workers", 1),
        sources_last=first.get("sources_last", False),
        guard=checked_if_from_file,
    )


def _answer(answer: Run | Idle) -> dict[str, Any]:
    if isinstance(answer, Idle):
        return {"idle": None if answer.until == float("inf") else answer.until}
    run: dict[str, Any] = {
        "id": answer.id,
        "units": [unit.id for unit in answer.units],
        "takes": [list(take) for take in answer.takes],
    }
    if answer.calls != answer.units[0].calls:
        run["calls"] = list(answer.calls)
    return {"run": run}


def _event_fields(event: Event) -> dict[str, Any]:
    if isinstance(event, Arrived | Frontier):
        return event._asdict()
    values = {part.name: getattr(event, part.name) for part in fields(event)}
    return {key: to_plain(value) for key, value in values.items() if value is not None}


def _event(line: dict[str, Any]) -> Event:
    kind = getattr(events, line["event"])
    settings = {key: value for key, value in line.items() if key not in ("now", "event")}
    settings = {key: from_plain(value) if isinstance(value, dict) else value for key, value in settings.items()}
    if "queries" in settings:
        settings["queries"] = from_plain(settings["queries"])
    if "backlog" in settings:
        settings["backlog"] = tuple(Produced(queue, _pairs(chunks)) for queue, chunks in settings["backlog"])
    event: Event = kind(**settings)
    return event


def _outcome_fields(outcome: Outcome) -> dict[str, Any]:
    line: dict[str, Any] = {"seconds": outcome.seconds}
    if outcome.error is not None:
        line["error"] = outcome.error
    if outcome.operators:
        line["operators"] = [list(work) for work in outcome.operators]
    if outcome.produced:
        line["produced"] = [[produced.queue, list(map(list, produced.chunks))] for produced in outcome.produced]
    if outcome.answered:
        line["answered"] = [[answered.query, list(answered.response_times)] for answered in outcome.answered]
    if outcome.work is not None:
        line["work"] = list(outcome.work)
    return line


def _run(number: int, scheduler: Scheduler) -> Run:
    return next(run for run in scheduler.running.values() if run.id == number)


def _outcome(line: dict[str, Any], number: int, scheduler: Scheduler) -> Outcome:
    return Outcome(
        _run(number, scheduler),
        line["seconds"],
        line.get("error"),
        tuple(OperatorOutcome(*work) for work in line.get("operators", ())),
        tuple(Produced(queue, _pairs(chunks)) for queue, chunks in line.get("produced", ())),
        tuple(Answered(query, tuple(times)) for query, times in line.get("answered", ())),
        Work(*line["work"]) if "work" in line else None,
    )


def _pairs(chunks: Iterable[Iterable[float]]) -> tuple[tuple[float, int], ...]:
    return tuple((arrival, int(count)) for arrival, count in chunks)
