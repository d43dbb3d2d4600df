"""Who delayed whom over the newest stretch of a history: what `headgate why --inversions` tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.history.history import History
from headgate.insight.attribution import InvertedPair, inverted_pairs, starving
from headgate.insight.json_trees import explanation_tree, run_tree
from headgate.insight.text import stretch_text
from headgate.insight.why import Explainer, Explanation

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Inversions:
    """Inverted pairs of classes between two times on the driver's clock, and queries that starve now."""

    since: float
    upto: float
    when: str  # which stretch that is, in words
    pairs: tuple[InvertedPair, ...]
    starving: tuple[Explanation, ...]


def find_inversions(explainer: Explainer, over: float = MINUTE, *, equal: bool = False) -> Inversions:
    """Who delayed whom in the newest `over` seconds; `equal` counts equal response times, too."""
    history = explainer.history
    since, upto = max(history.began, history.now - over), history.now
    when = stretch_text(None if since == history.began else over, upto - since)
    pairs = inverted_pairs(explainer, since, upto, equal=equal, when=when)
    return Inversions(since, upto, when, tuple(pairs), tuple(starving(explainer)))


def inversions_of(history: History, over: float = MINUTE, *, equal: bool = False) -> dict[str, Any]:
    """Who delayed whom, as `headgate why DIR --inversions --json` prints it.

    >>> from headgate.history.records import Answer, RunRecord, Setting
    >>> classes = [{"name": "high", "priority": 9.0}, {"name": "low", "priority": 1.0}]
    >>> queries = [{"name": "fire", "query_class": "high"}, {"name": "report", "query_class": "low"}]
    >>> long = RunRecord(1, 0, "report", "low", ("report",), 9, 0.0, 0.0, 1.0, 1.0, answers={"report": Answer(1, 0, 0)})
    >>> late = RunRecord(2, 0, "fire", "high", ("fire",), 9, 0.1, 1.0, 1.5, 1.5, answers={"fire": Answer(1, 0.1, 0.1)})
    >>> history = History.of([Setting(0.0, 0.0, {"classes": classes, "queries": queries}), long, late])
    >>> (pair,) = inversions_of(history)["inversions"]
    >>> round(pair["sum"]["seconds"], 6), [(share["class"], share["cause"]) for share in pair["sum"]["to"]]
    (0.4, [('low', 'long run')])
    """
    return tree(find_inversions(Explainer(history), over, equal=equal), history.origin)


def tree(found: Inversions, origin: float) -> dict[str, Any]:
    """Inversions as JSON; times are seconds since the driver began."""
    return {
        "from": found.since - origin,
        "to": found.upto - origin,
        "inversions": [_pair(pair, origin) for pair in found.pairs],
        "starving": [explanation_tree(told, origin) for told in found.starving],
    }


def _pair(pair: InvertedPair, origin: float) -> dict[str, Any]:
    """A pair; `lost`, `causes` and `losses` are means over results, `sum` is what they lost together."""
    return {
        "above": pair.above,
        "below": pair.below,
        "response_above": pair.response_above,
        "response_below": pair.response_below,
        "results": pair.results,
        "lost": pair.difference,
        "causes": {cause.value: seconds for cause, seconds in pair.by_cause.items()},
        "sum": {
            "seconds": pair.lost,
            "to": [
                {
                    "whom": share.whom,
                    "class": share.query_class or None,
                    "work": share.work or None,
                    "queries": list(share.queries),
                    "cause": share.cause.value,
                    "seconds": share.seconds,
                    "runs": share.runs,
                }
                for share in pair.shares
            ],
        },
        "losses": [
            {
                "seconds": loss.seconds,
                "cause": loss.cause.value,
                **({} if loss.run is None else run_tree(loss.run, origin)),
            }
            for loss in pair.losses
        ],
        "summary": pair.summary,
    }
