"""Messages and tasks in one line each, for those who follow a case step by step."""

from __future__ import annotations

from typing import Any

from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t


def told(what: Any) -> str:
    """A message, a task, or anything else as it writes itself."""
    if isinstance(what, m.Answer):
        return f"answer to {told(what.task)}: {what.error or 'done'}"
    if not isinstance(what, m.Command | m.Appended | m.TimePassed | m.SparkDied | t.Task):
        return str(what)
    parts = (type(what).__name__, getattr(what, "ticket", ""), _name(what), _more(what))
    return " ".join(str(part) for part in parts if part != "")


def _name(what: Any) -> str:
    """The query that it is about."""
    for each in (what, getattr(what, "standing", None), getattr(what, "query", "")):
        if name := getattr(each, "name", each if isinstance(each, str) else ""):
            return str(name)
    return ""


def _more(what: Any) -> Any:
    match what:
        case t.WriteCommit():
            return f"{dict(what.positions)} {list(what.queries)}"
        case t.Evaluate():
            return [(portion.name, dict(portion.offsets)) for group in what.groups for portion in group]
        case m.AddQuery():
            query = what.query
            return query.sql, query.sink, query.once, query.since, query.lag, what.start, what.end
        case m.AddQueries():
            return [(each.query.name, *_more(each)) for each in what.queries]
        case m.Replace():
            return what.query.sql
        case m.SetPolicy():
            return what.policy
        case m.Appended():
            return what.stream, what.end
        case t.Deliver():
            return [number for number, _ in what.batch]
        case t.Maintain():
            return what.upto, what.resume_points is not None
        case t.DropTuples():
            return dict(what.before)
    return ""
