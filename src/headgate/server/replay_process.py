"""The process that answers a what-if: a question as JSON on its input, the answer as JSON on its output.

    {"directory": "out/plant", "policies": ["fcfs"], "fuse": "off", "priorities": {"critical": 80}, "workers": 4,
     "rate": 1.5, "added": {"sql": "SELECT …", "class": "normal", "name": "new"}, "last": 60.0, "by": "mean"}
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from headgate.core.trace import replayable
from headgate.history.history import History
from headgate.history.ring import read_history
from headgate.model import HeadgateError, Query
from headgate.plan.fusion import Fuse
from headgate.plan.sql.query import plan_sql
from headgate.what_if.comparison import TARGETS, Comparison, check_measure
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.response_times import Judged

FEWEST = 10  # runs in a history from which something can be told


def answered(question: Mapping[str, Any]) -> dict[str, Any]:
    """What `headgate what-if --json` prints; with an added query also what it does to each class, under `added`."""
    history = _latest(read_history(question["directory"]), question.get("last"))
    if len(history.runs) < FEWEST:
        raise HeadgateError(
            f"the history is too short: {len(history.runs)} runs, and at least {FEWEST} are needed",
            hint="ask again when more has run",
        )
    for setting in history.settings:
        replayable(setting.header["policy"], [])
    learned = Learned.of(history)
    changed = _changed(learned, question)
    changed.check(learned)
    by = question.get("by") or (TARGETS if learned.recorded.targets else "mean")
    check_measure(by, learned.recorded)
    asked = list(question.get("policies") or [])
    if not asked and not changed.anything:
        raise HeadgateError(
            "nothing is to be different", hint='give "policies", "fuse", "priorities", "workers", "rate" or "added"'
        )
    asked = asked or [learned.settings.last.policy]
    replayed = replay(learned, None, Changed(seed=changed.seed))
    finished: dict[str, Judged] = {}
    failed: dict[str, str] = {}
    for policy in asked:
        try:
            finished[policy] = replay(learned, policy, changed)
        except HeadgateError as error:
            failed[policy] = str(error)
    comparison = Comparison(learned.recorded, replayed, finished)
    tree = comparison.to_json(by) | {"failed": failed}
    if changed.added and asked[0] in finished:
        tree["added"] = _effects(comparison, asked[0])
    return tree


def _latest(history: History, seconds: float | None) -> History:
    """The last so many seconds of a history."""
    if seconds is None or history.ended - seconds <= history.began:
        return history
    since = history.ended - seconds
    former = [setting for setting in history.settings if setting.at <= since]
    return History(
        [run for run in history.runs if run.began >= since],
        {stream: [chunk for chunk in chunks if chunk[0] >= since] for stream, chunks in history.arrivals.items()},
        {query: [one for one in made if one.at >= since] for query, made in history.deliveries.items()},
        [*former[-1:], *(setting for setting in history.settings if setting.at > since)],
    )


def _changed(learned: Learned, question: Mapping[str, Any]) -> Changed:
    fuse, last = question.get("fuse"), learned.settings.last
    added: tuple[Query, ...] = ()
    if (new := question.get("added")) is not None:
        plan = plan_sql(new["sql"], last.streams, last.tables)
        if new["class"] not in last.classes:
            raise HeadgateError(f"class '{new['class']}' is not in the history yet", hint="ask again when it has run")
        added = (Query(name=new["name"], query_class=new["class"], plan=plan, sql=new["sql"]),)
    return Changed(
        None if fuse is None else Fuse(fuse),
        question.get("priorities") or {},
        question.get("workers"),
        added,
        question.get("rate") or 1.0,
        question.get("seed") or 0,
    )


def _effects(comparison: Comparison, policy: str) -> dict[str, Any]:
    """How much slower each class would be."""
    classes = {
        name: {
            "change": comparison.change(policy, name),
            "error": comparison.error(name),
            "within_error": comparison.within_error(policy, name),
        }
        for name in comparison.recorded.classes
    }
    slower = [name for name, one in classes.items() if one["change"] and one["change"] > 0 and not one["within_error"]]
    return {"classes": classes, "slower": sorted(slower, key=lambda name: -classes[name]["change"])}


def main() -> None:
    """Answer one question."""
    try:
        answer = answered(json.load(sys.stdin))
    except HeadgateError as error:
        answer = {"refused": error.message, "where": error.where, "hint": error.hint}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
