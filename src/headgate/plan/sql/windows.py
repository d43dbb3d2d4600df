"""Durations, `window(…)` calls, and the table functions TUMBLE and HOP."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from headgate.model import Expression, HeadgateError, Window
from headgate.plan.sql.bounds import check_windows
from headgate.plan.sql.normal import form
from headgate.plan.sql.parse import place, refusal
from headgate.plan.sql.scope import END, START, Field, FromItem, Relation, Scope, flat, projected
from headgate.plan.sql.words import bare

_SECONDS = {
    "microsecond": Decimal("0.000001"),
    "millisecond": Decimal("0.001"),
    "second": Decimal(1),
    "minute": Decimal(60),
    "hour": Decimal(3600),
    "day": Decimal(86400),
    "week": Decimal(604800),
}
_DURATION = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*([a-z]+?)s?(?![a-z])\s*", re.IGNORECASE)
_TABLE_FUNCTIONS = {"tumble": 3, "hop": 4}


def duration(node: exp.Expr) -> float | None:
    """Seconds of an interval, or of a string as Spark's `window` takes it; None if it is neither.

    >>> from headgate.plan.sql.parse import expression
    >>> [duration(expression(sql)) for sql in ("INTERVAL '2' MINUTES -1 SECOND", "'1 minute 30 seconds'", "'x'")]
    [119.0, 90.0, None]
    """
    node = bare(node)
    if isinstance(node, exp.Neg):
        length = duration(node.this)
        return None if length is None else -length
    if isinstance(node, exp.Add):
        parts = [duration(node.this), duration(node.expression)]
        return None if None in parts else sum(part for part in parts if part is not None)
    if isinstance(node, exp.Interval):
        return _seconds(re.sub(r"([+-]) ", r"\1", form(node).replace("'", "")))
    return _seconds(node.name) if isinstance(node, exp.Literal) and node.is_string else None


def is_window(node: exp.Expr) -> bool:
    """A call of `window(…)`."""
    node = bare(node)
    return isinstance(node, exp.Anonymous) and node.name.lower() == "window"


def window_call(node: exp.Expr, scope: Scope, relation: Relation) -> tuple[Window, str]:
    """What `window(ts, '10 seconds'[, '5 seconds'])` asks for: the window and the event time that it cuts."""
    arguments = bare(node).expressions
    if len(arguments) not in (2, 3):
        hint = "write window(ts, size) or window(ts, size, slide)"
        raise refusal(node, f"window() takes 2 or 3 arguments here, found {len(arguments)}", hint)
    time = event_time(scope.resolve(arguments[0]), arguments[0], relation)
    lengths = [_length(argument) for argument in arguments[1:]]
    return _window(node, lengths[0], lengths[-1]), time


def event_time(resolved: exp.Expr, node: exp.Expr, relation: Relation) -> str:
    """The event time that an expression is, or a refusal."""
    written = form(resolved)
    if written in relation.times:
        return relation.times[written]
    if not relation.times:
        raise without_event_time(node, relation)
    times = " or ".join(sorted(relation.times))
    raise refusal(node, f"a window needs event time, found '{written}'", f"use {times}")


def without_event_time(node: exp.Expr, relation: Relation) -> HeadgateError:
    """The refusal of a window over rows that carry no event time."""
    return refusal(
        node,
        f"a window needs event time, and '{relation.base}' has none here",
        'give the stream event_time = "its timestamp column", and keep that column in subqueries',
    )


def is_table_function(node: exp.Expr) -> bool:
    """A call of TUMBLE or HOP."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _TABLE_FUNCTIONS


def table_function(node: exp.Expr, relation: Relation) -> Relation:
    """`TUMBLE(s, ts, size)` or `HOP(s, ts, slide, size)` over its first argument; an aggregate will apply it."""
    name = node.name.lower()
    arguments = node.expressions
    if len(arguments) != _TABLE_FUNCTIONS[name]:
        wanted = (
            "TUMBLE(TABLE s, DESCRIPTOR(ts), size)" if name == "tumble" else "HOP(TABLE s, DESCRIPTOR(ts), slide, size)"
        )
        raise refusal(
            node, f"{name.upper()} takes {_TABLE_FUNCTIONS[name]} arguments, found {len(arguments)}", f"write {wanted}"
        )
    relation = flat(relation, node)
    stamp = _descriptor(arguments[1])
    scope = Scope((FromItem(name=relation.base, alias=relation.base, node=node, relation=relation),))
    time = event_time(scope.resolve(stamp), stamp, relation)
    window = _window(node, _length(arguments[-1]), _length(arguments[2]))
    ends = (Field(START, START), Field(END, END))
    fields = None if relation.fields is None else (*relation.fields, *ends)
    marks = {START: START, END: END}
    types = {**relation.types, START: "timestamp", END: "timestamp"}
    return Relation(relation.plan, fields, relation.times, window, marks, cut=time, pending=True, types=types)


def applied(relation: Relation, node: exp.Expr) -> Relation:
    """TUMBLE outside an aggregate: the ends of its window as two more columns."""
    if not relation.pending or relation.window is None:
        return relation
    if not relation.window.tumbling:
        hint = "aggregate it with GROUP BY window_start, window_end, or use TUMBLE"
        raise refusal(node, "HOP without an aggregate puts a row into several windows", hint)
    if relation.fields is None:
        hint = "give its stream a schema, or aggregate with GROUP BY window_start, window_end"
        raise refusal(node, "the columns of TUMBLE's input are not declared", hint)
    call = f"WINDOW({relation.cut}, {_spark_length(relation.window)})"
    ends = {START: f"{call}.start", END: f"{call}.end"}
    outputs = [(field.name, Expression(ends.get(field.name, field.ref))) for field in relation.fields]
    windowed = projected(relation, outputs)
    times = {**windowed.times, START: START, END: END}
    types = {**windowed.types, START: "timestamp", END: "timestamp"}
    marks = {START: START, END: END}
    return Relation(windowed.plan, windowed.fields, times, relation.window, marks, cut=START, types=types)


def _seconds(written: str) -> float | None:
    rest = written.lower().removeprefix("interval").strip()
    total = Decimal(0)
    while rest:
        match = _DURATION.match(rest)
        if match is None or match[2] not in _SECONDS:
            return None
        total += Decimal(match[1]) * _SECONDS[match[2]]
        rest = rest[match.end() :]
    return float(total) if written.strip() else None


def _length(node: exp.Expr) -> float:
    seconds = duration(node)
    if seconds is None or seconds <= 0:
        raise refusal(node, f"{form(node)} is not a length of time", "write '10 seconds' or INTERVAL '10' SECOND")
    return seconds


def _window(node: exp.Expr, size: float, slide: float) -> Window:
    if slide > size:
        hint = "slide by at most the window's size"
        raise refusal(node, f"windows of {size:g} s every {slide:g} s leave gaps", hint)
    check_windows(size, slide, place(node))
    return Window(size, slide)


def _descriptor(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "descriptor" and len(node.expressions) == 1:
        inner: exp.Expr = node.expressions[0]
        return inner
    return node


def _spark_length(window: Window) -> str:
    whole = window.size.is_integer()
    return f"'{window.size:.0f} seconds'" if whole else f"'{window.size * 1e6:.0f} microseconds'"
