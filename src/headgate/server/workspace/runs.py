"""Runs and the decisions for them, as a tenant may see them: its own, by numbers of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from headgate.history.records import RunRecord, RunStart
from headgate.history.ring import KEPT
from headgate.insight.text import decision_text
from headgate.model import HeadgateError
from headgate.model.number_text import duration
from headgate.server.histories import Histories, RecentRuns
from headgate.server.paging import cursor, position
from headgate.server.problems import NotFoundError
from headgate.server.workspace.names import Names
from headgate.server.workspace.own_history import own_run
from headgate.spark.session import Session

DECISIONS, RUNS = "decisions", "runs"
Number = Literal["run", "decision"]


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of the last ten minutes, and why they were chosen."""

    session: Session
    names: Names
    histories: Histories

    # -- runs --------------------------------------------------------------------------------------------------

    def listed(self, since: float, after: str | None) -> dict[str, Any]:
        """The runs of the last `since` seconds, or those that ended after a cursor, and what is running."""
        found, now = self._recent(), self.session.engine.now()
        newer = self._newer(found, now - since, None if after is None else _run_cursor(after))
        running = [self._run(start) for start in found.running if self._is_own(start)]
        return {
            "runs": [self._run(run) for run in newer.runs],
            "running": running,
            "next": cursor(RUNS, found.started, newer.last, newer.given),
            "at": now,
            "from": round(self._kept_from(found, now), 6),
            "started": found.started,
            "workers": found.workers,
        }

    def _kept_from(self, found: RecentRuns, now: float) -> float:
        """The earliest moment that is kept: a tenant is not told when others had their first run."""
        if self.names.tenant:
            return max(found.started, now - KEPT)
        return min([now, *(run.began for run in found.ended[:1]), *(start.began for start in found.running[:1])])

    def _newer(self, found: RecentRuns, since: float, after: _After | None) -> _Newer:
        """Runs that ended after a moment, or after those that were given before; a restart makes all of them new."""
        if after is None or after.started != found.started:
            after = _After(found.started, since, 0)
        runs: list[RunRecord] = []
        for run in reversed(found.ended):
            if run.ended < after.last:
                break
            if self._is_own(run):
                runs.append(run)
        runs.reverse()
        same = sum(run.ended == after.last for run in runs)
        runs = runs[min(after.given, same) :]
        last = runs[-1].ended if runs else after.last
        given = sum(run.ended == last for run in runs) + (after.given if last == after.last else 0)
        return _Newer(runs, last, given)

    def _run(self, run: RunRecord | RunStart) -> dict[str, Any]:
        own = [self.names.short(query) for query in run.queries if self.names.has(query)]
        told = {
            "id": self.histories.number(run.id, self.names),
            "worker": 0 if self.names.tenant else run.worker,
            "class": run.query_class,
            "unit": _unit(own) if self.names.tenant else run.unit,
            "members": len(own),
            "tuples": run.tuples if len(own) == len(run.queries) else 0,
            "oldest": round(min(run.oldest, run.began), 6),
            "began": round(run.began, 6),
        }
        if isinstance(run, RunStart):
            return told | {"state": "running"}
        return told | {"evaluated": round(run.evaluated, 6), "ended": round(run.ended, 6), "state": _state(run)}

    def _is_own(self, run: RunRecord | RunStart) -> bool:
        return not self.names.tenant or any(self.names.has(query) for query in run.queries)

    # -- decisions ---------------------------------------------------------------------------------------------

    def decisions(self, limit: int, after: str | None) -> dict[str, Any]:
        """The decisions of the last minutes, the newest first; a tenant sees those for its own queries."""
        before = None if after is None else _moment(after)
        found = self._recent()
        shown: list[RunRecord] = []
        for run in self._newest_first(found):
            if before is not None and [run.began, self.histories.number(run.id, self.names)] >= before:
                continue
            shown.append(run)
            if len(shown) > limit:
                break
        more = None
        if len(shown) > limit:
            shown.pop()
            more = cursor(DECISIONS, shown[-1].began, self.histories.number(shown[-1].id, self.names))
        return {"items": [self._decision(run, found.started) for run in shown], "next": more}

    def decision(self, number: int, by: Number) -> dict[str, Any]:
        """One decision in full: in words, and who waited how long when it was made."""
        found = self._recent()
        run = next((run for run in self._newest_first(found) if self._number(run, by) == number), None)
        if run is None:
            raise NotFoundError(
                f"there is no {by} {number} in the record of the last ten minutes", hint="GET /v1/runs lists those"
            )
        told, seen = self._decision(run, found.started), own_run(run, self.names)
        why = seen.why
        waiting = () if why is None else why.waiting
        return told | {
            "sentence": self._sentence(seen, told["waited"]),
            "waiting": [
                {
                    "unit": unit.unit,
                    "class": unit.query_class,
                    "queries": list(unit.queries),
                    "tuples": None if self.names.tenant else unit.tuples,
                    "waited": max(0.0, run.began - unit.oldest),
                    "numbers": _finite(unit.numbers),
                }
                for unit in sorted(waiting, key=lambda unit: unit.oldest)
            ],
        }

    def _sentence(self, run: RunRecord, waited: float) -> str:
        why = run.why
        if self.names.tenant:
            return f"{run.unit} ran; its oldest tuple had waited {duration(waited)}"
        if why is None:
            return f"decision {run.decision}: {run.unit} ran; why is not recorded"
        return "; ".join(filter(None, (decision_text(run.decision, why), why.reason)))

    def _number(self, run: RunRecord, by: Number) -> int:
        if by == "decision" and not self.names.tenant:
            return run.decision
        return self.histories.number(run.id, self.names)

    def _newest_first(self, found: RecentRuns) -> Iterator[RunRecord]:
        """Own runs by when they began; those of one moment in the order of the numbers that are shown."""
        numbers = self.histories.number
        runs = sorted(found.so_far, key=lambda run: run.began, reverse=True)
        place = 0
        while place < len(runs):
            upto = place + 1
            while upto < len(runs) and runs[upto].began == runs[place].began:
                upto += 1
            same = [run for run in runs[place:upto] if self._is_own(run)]
            yield from sorted(same, key=lambda run: numbers(run.id, self.names), reverse=True)
            place = upto

    def _recent(self) -> RecentRuns:
        return self.histories.runs(self.session.directory)

    def _decision(self, run: RunRecord, started: float) -> dict[str, Any]:
        seen = own_run(run, self.names)
        told: dict[str, Any] = {
            "at": run.began,
            "since_start": run.began - started,
            "winner": seen.unit,
            "class": seen.query_class,
            "queries": list(seen.queries),
            "tuples": seen.tuples,
            "waited": max(0.0, run.began - run.oldest),
            "run": self.histories.number(run.id, self.names),
        }
        if self.names.tenant:  # the rest compares it with the work of others
            return told
        why = run.why
        return told | {
            "decision": run.decision,
            "worker": run.worker,
            "policy": None if why is None else why.policy,
            "rule": None if why is None else why.rule,
            "reason": None if why is None else why.reason,
            "numbers": {} if why is None else _finite(why.numbers),
            "runner_up": None if why is None else why.runner_up,
            "runner_up_numbers": {} if why is None else _finite(why.runner_up_numbers),
        }


@dataclass(frozen=True, slots=True)
class _After:
    """What a cursor says: of which start of the engine, when the last run ended, and how many of that moment it had."""

    started: float
    last: float
    given: int


@dataclass(frozen=True, slots=True)
class _Newer:
    """Runs, and where the next ones begin."""

    runs: list[RunRecord]
    last: float
    given: int


def _unit(queries: Sequence[str]) -> str:
    """What a tenant calls a run of some of its queries.

    >>> _unit(["fire"]), _unit(["fire", "hot", "leak"])
    ('fire', 'fire…leak (3 queries)')
    """
    return queries[0] if len(queries) == 1 else f"{queries[0]}…{queries[-1]} ({len(queries)} queries)"


def _finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Numbers as JSON has them: None for infinity."""
    return {name: value if isfinite(value) else None for name, value in numbers.items()}


def _state(run: RunRecord) -> str:
    if run.unfinished:
        return "unfinished"
    if run.cancelled:
        return "cancelled"
    return "done" if run.error is None else "failed"


def _run_cursor(after: str) -> _After:
    match position(after, RUNS):
        case [float() | int() as started, float() | int() as last, int(given)] if given >= 0:
            return _After(started, last, given)
    raise _wrong_cursor()


def _moment(after: str) -> list[float]:
    match position(after, DECISIONS):
        case [float() | int() as began, int(number)]:
            return [began, number]
    raise _wrong_cursor()


def _wrong_cursor() -> HeadgateError:
    return HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")
