"""Why results were late, who delayed whom, and what was decided: from the history, as a tenant may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.history.history import History
from headgate.history.records import RunRecord
from headgate.insight.causes import OTHER_WORK
from headgate.insight.inversions import MINUTE, find_inversions, tree
from headgate.insight.json_trees import explanation_tree
from headgate.insight.parts import mean_parts, results
from headgate.insight.why import Explainer
from headgate.model import HeadgateError
from headgate.model.spec import seconds
from headgate.model.values import located
from headgate.server.histories import Histories
from headgate.server.paging import cursor, position
from headgate.server.workspace.names import Names
from headgate.spark.session import Session

DECISIONS = "decisions"


@dataclass(frozen=True, slots=True)
class Insight:
    """What the last ten minutes tell a tenant."""

    session: Session
    names: Names
    histories: Histories

    def _explainer(self) -> Explainer:
        explainer = self.histories.explainer(self.session.directory, self.names)
        if not explainer.runs:
            raise HeadgateError("nothing has run yet", hint="ask again when something has")
        return explainer

    def why(self, query: str, at: str | None, last: bool) -> dict[str, Any]:
        """What a result of a query (by the engine's name) waited for: the slowest, the newest, or one at a time.

        `means` says where the time of all its results in the record went.
        """
        explainer, name = self._explainer(), self.names.short(query)
        if name not in explainer.classes.of:
            raise HeadgateError(f"'{name}' has no results in the record", hint="ask again when it has some")
        if at is not None:
            if last:
                raise HeadgateError("at and last exclude each other", hint="keep one of them")
            with located("at"):
                told = explainer.at(name, seconds(at, what="at"))
        else:
            told = explainer.pick(name, "last" if last else "worst")
        return explanation_tree(told, explainer.history.origin) | {"means": _means(explainer, name)}

    def times(self, query: str) -> dict[str, Any] | None:
        """Where the time of a query's results in the record went, by the tenant's name for it; None without any."""
        explainer = self.histories.explainer(self.session.directory, self.names)
        return _means(explainer, query) if query in explainer.classes.of else None

    def inversions(self, over: str | None) -> dict[str, Any]:
        """Which classes answer later than less important ones, and what they lost to whom."""
        with located("over"):
            stretch = MINUTE if over is None else seconds(over, what="over")
        explainer = self._explainer()
        return tree(find_inversions(explainer, stretch), explainer.history.origin)

    def starvation(self) -> dict[str, Any]:
        """Queries that wait far longer than their results ever took, and behind what."""
        return {"items": self.inversions(None)["starving"], "next": None}

    def decisions(self, limit: int, after: str | None) -> dict[str, Any]:
        """The decisions of the last minutes, the newest first; a tenant sees those for its own queries."""
        explainer = self._explainer()
        runs = [run for run in reversed(explainer.runs) if run.query_class != OTHER_WORK]
        if after is not None:
            before = _moment(after)
            runs = [run for run in runs if [run.began, run.id] < before]
        shown = runs[:limit]
        more = cursor(DECISIONS, shown[-1].began, shown[-1].id) if len(runs) > limit else None
        return {"items": [self._decision(run, explainer.history) for run in shown], "next": more}

    def _decision(self, run: RunRecord, history: History) -> dict[str, Any]:
        told: dict[str, Any] = {
            "at": run.began,
            "since_start": run.began - history.origin,
            "winner": run.unit,
            "class": run.query_class,
            "queries": list(run.queries),
            "tuples": run.tuples,
            "waited": max(0.0, run.began - run.oldest),
        }
        if self.names.tenant:  # the rest compares it with the work of others
            return told
        why = run.why
        return told | {
            "decision": run.decision,
            "run": run.id,
            "worker": run.worker,
            "policy": None if why is None else why.policy,
            "rule": None if why is None else why.rule,
            "reason": None if why is None else why.reason,
            "numbers": {} if why is None else why.numbers,
            "runner_up": None if why is None else why.runner_up,
            "runner_up_numbers": {} if why is None else why.runner_up_numbers,
        }


def _means(explainer: Explainer, query: str) -> dict[str, Any]:
    means = mean_parts(results(explainer.history, query))
    return {"results": means.results, "seconds": means.total, "parts": dict(means.parts)}


def _moment(after: str) -> list[float]:
    match position(after, DECISIONS):
        case [float() | int() as began, int(number)]:
            return [began, number]
    raise HeadgateError("the cursor is not one that this server gave", where="cursor", hint="leave it out to begin")
