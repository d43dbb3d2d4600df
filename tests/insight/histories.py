"""Small histories, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.history.history import History
from headgate.history.records import Answer, Record, RunRecord, RunStart, Setting

PRIORITIES = {"critical": 60.0, "normal": 30.0, "background": 10.0}


def run(
    number: int,
    queries: str,
    began: float,
    evaluated: float,
    ended: float | None = None,
    *,
    answers: Mapping[str, tuple[float, ...]] | None = None,
    query_class: str = "background",
    **more: Any,
) -> RunRecord:
    """A run of some queries, "a b"; `answers` are (arrival,) or (arrival, released) of one result of a query."""
    names = tuple(queries.split())
    given = {name: Answer(1, life[0], life[0], *life[1:]) for name, life in (answers or {}).items()}
    fields = {"worker": 0, "tuples": 10, "oldest": began, "recorded_why": more.pop("why", None), **more}
    return RunRecord(
        id=number,
        unit="+".join(names),
        query_class=query_class,
        queries=names,
        began=began,
        evaluated=evaluated,
        ended=evaluated if ended is None else ended,
        answers=given,
        decision=number,
        **fields,
    )


def setting(classes: Mapping[str, str], workers: int = 1, fuse: str = "off", **more: Any) -> Setting:
    """Queries with their classes, on so many workers."""
    queries = [{"name": name, "query_class": of, "plan": {"is": "Select"}} for name, of in classes.items()]
    known = [{"name": name, "priority": priority} for name, priority in PRIORITIES.items()]
    return Setting(0.0, 0.0, {"queries": queries, "classes": known, "workers": workers, "fuse": fuse, **more})


def history(classes: Mapping[str, str], records: Sequence[Record], **settings: Any) -> History:
    return History.of([setting(classes, **settings), *records])


def start(number: int, queries: str, began: float, *, query_class: str = "background", **more: Any) -> RunStart:
    """A run of which only the beginning is recorded."""
    names = tuple(queries.split())
    fields = {"oldest": began, "tuples": 10, **more}
    return RunStart(number, 0, "+".join(names), query_class, names, began=began, decision=number, **fields)
