"""Why results were late, who delayed whom, and who starves: from the history, as a tenant may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.history.history import History
from headgate.insight.inversions import MINUTE, find_inversions, tree
from headgate.insight.json_trees import explanation_tree
from headgate.insight.latency import latency_steps, part_lists
from headgate.insight.parts import mean_parts, results
from headgate.insight.why import Explainer
from headgate.model import HeadgateError
from headgate.model.spec import seconds
from headgate.model.values import located
from headgate.server.histories import Histories
from headgate.server.workspace.names import Names
from headgate.spark.session import Session

MOST_STEPS = 600  # of one answer


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

    def latency(self, query: str, over: float, step: float) -> dict[str, Any]:
        """How long the results of a query (by the engine's name) took in the last `over` seconds, step by step."""
        if over / step > MOST_STEPS:
            raise HeadgateError(
                f"{over:g} s in steps of {step:g} s are more than {MOST_STEPS} steps",
                where="step",
                hint=f"ask for steps of at least {over / MOST_STEPS:g} s",
            )
        directory, now = self.session.directory, self.session.engine.now()
        recent = self.histories.runs(directory)
        own = History(runs=recent.ended, deliveries={query: self.histories.deliveries(directory, query)})
        steps = latency_steps(own, query, now - over, now, step)
        means = [one.means for one in steps]
        return {
            "step": step,
            "at": [one.at for one in steps],
            "results": [one.results for one in steps],
            "p50": [one.p50 for one in steps],
            "p95": [one.p95 for one in steps],
            "max": [one.max for one in steps],
            "mean": [None if one is None else one.total for one in means],
            "parts": part_lists(steps),
        }

    def inversions(self, over: str | None) -> dict[str, Any]:
        """Which classes answer later than less important ones, and what they lost to whom."""
        with located("over"):
            stretch = MINUTE if over is None else seconds(over, what="over")
        explainer = self._explainer()
        return tree(find_inversions(explainer, stretch), explainer.history.origin)

    def starvation(self) -> dict[str, Any]:
        """Queries that wait far longer than their results ever took, and behind what."""
        return {"items": self.inversions(None)["starving"], "next": None}


def _means(explainer: Explainer, query: str) -> dict[str, Any]:
    means = mean_parts(results(explainer.history, query))
    return {"results": means.results, "seconds": means.total, "parts": dict(means.parts)}
