"""What cannot run continuously, and the sentence that says what to use instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from sqlglot import exp

from headgate.model import HeadgateError, unknown
from headgate.plan.sql.functions import Reason, accepted, counts_of, refused, settled, takes
from headgate.plan.sql.normal import form
from headgate.plan.sql.parse import place, refusal
from headgate.plan.sql.words import is_star, written

_SORTED = Reason(
    "is not deterministic: its value depends on the order of rows",
    "sort what it collects: sort_array(collect_list(x))",
)
_MODE = Reason(_SORTED.why, "write mode(x, true), which takes the smallest of those that are equally frequent")
_BARE = frozenset(  # functions that Spark calls without parentheses
    ["current_date", "current_time", "current_timestamp", "current_user", "localtime", "localtimestamp", "session_user"]
)
_OURS = frozenset({"tumble", "hop", "table", "descriptor"})  # in FROM
_CLOCK = frozenset({"now", "today", "tomorrow", "yesterday"})
_LEAST_ERROR = 0.001
_NO_DATE = re.compile(r"\s*[Tt]?\d{1,2}:")  # a time of the day alone is one of today
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ"})

_CLAUSES = MappingProxyType(
    {
        "order": (
            "ORDER BY",
            "a stream never ends, so it cannot be sorted: leave it out and sort where results are read",
        ),
        "sort": ("SORT BY", "a stream never ends, so it cannot be sorted: leave it out"),
        "cluster": ("CLUSTER BY", "leave it out: Headgate decides where rows go"),
        "distribute": ("DISTRIBUTE BY", "leave it out: Headgate decides where rows go"),
        "limit": ("LIMIT", "a stream never ends: leave it out, or aggregate over a window"),
        "offset": ("OFFSET", "a stream never ends: leave it out"),
        "qualify": ("QUALIFY", "aggregate with GROUP BY window(ts, '10 seconds') and use HAVING"),
        "laterals": ("LATERAL VIEW", "explode before the rows enter the stream, or use array functions"),
        "sample": ("TABLESAMPLE", "filter on a column instead, for example WHERE id % 10 = 0"),
        "pivots": ("PIVOT", "use sum(x) FILTER (WHERE …) per column"),
        "windows": ("WINDOW", "aggregate with GROUP BY window(ts, '10 seconds')"),
        "into": ("INTO", "give the query a sink"),
        "hint": ("an optimizer hint", "leave it out: Headgate decides how to run it"),
        "match": ("MATCH_RECOGNIZE", "use window joins or aggregates"),
    }
)
_KEPT = frozenset(
    {
        *("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having"),
        *("this", "expression", "alias", "by_name", "kind", "db", "catalog"),
    }
)


def refuse_everywhere(statement: exp.Expr) -> None:
    """Refuse functions and subqueries that no plan could hold, wherever they stand."""
    for node in statement.walk():
        for rule in _RULES:
            error = rule(node)
            if error is not None:
                raise error


def refuse_clauses(query: exp.Expr) -> None:
    """Refuse the clauses of one query level, or of a table in FROM, that need the whole input."""
    for key, value in query.args.items():
        if value and key not in _KEPT:
            name, hint = _CLAUSES.get(key, (key.rstrip("_").replace("_", " ").upper(), "leave it out"))
            at = value[0] if isinstance(value, list) else value
            raise refusal(at if isinstance(at, exp.Expr) else query, f"{name} is not supported over streams", hint)


def _function(node: exp.Expr) -> HeadgateError | None:
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in _BARE:
        return _refused(node, node.name.lower(), refused()[node.name.lower()])
    if not isinstance(node, exp.Anonymous):
        return None
    if isinstance(node.parent, exp.Dot) and node.arg_key == "expression":
        message = f"'{written(_outermost(node.parent)).partition('(')[0]}' is not one of Spark's own functions"
        return refusal(node.parent, message, "use those: functions of catalogs and sessions are not called by a query")
    name = node.name.lower()
    if name in ("unix_timestamp", "to_unix_timestamp") and not node.expressions:
        return _refused(node, name, refused()["now"])
    if name in refused():
        return _refused(node, name, refused()[name])
    if name in settled() and not _settled(node):
        return _refused(node, name, _MODE if name == "mode" else _SORTED)
    if name in _OURS:
        return None
    return _miscounted(node, name) if name in accepted() else _unknown(node, name)


def _miscounted(node: exp.Expr, name: str) -> HeadgateError | None:
    """The refusal of a call with too many or too few arguments; stars are counted when they are written out."""
    count = sum(len(part.expressions) if isinstance(part, exp.Distinct) else 1 for part in node.expressions)
    if takes(name, count) or any(is_star(part) for part in node.walk()):
        return None
    hint = (
        "add what is missing" if not any(takes(name, fewer) for fewer in range(count)) else "leave out what is too much"
    )
    return refusal(node, f"{name}() takes {counts_of(name)}, found {count}", hint)


def _refused(node: exp.Expr, name: str, reason: Reason) -> HeadgateError:
    return refusal(node, f"{name}() {reason.why}", reason.hint)


def _unknown(node: exp.Expr, name: str) -> HeadgateError:
    error = unknown("function", name, accepted(), where=place(node))
    return refusal(node, error.message, "use one of Spark's own") if error.hint.startswith("known") else error


def _outermost(node: exp.Expr) -> exp.Expr:
    while isinstance(node.parent, exp.Dot):
        node = node.parent
    return node


def _settled(node: exp.Expr) -> bool:
    """Whether what is collected is sorted, by its own order; and whether `mode` is told to be deterministic."""
    above = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    if isinstance(above, exp.Anonymous) and above.name.lower() in ("sort_array", "array_sort"):
        return not above.find(exp.Lambda)
    asked = node.expressions[1] if node.name.lower() == "mode" and len(node.expressions) == 2 else None
    asked = asked.expression if isinstance(asked, exp.Kwarg) else asked
    return isinstance(asked, exp.Boolean) and bool(asked.this)


def _clock(node: exp.Expr) -> HeadgateError | None:
    """`timestamp 'now'` and `cast('today' AS date)`: constants to Spark, which reads the clock when it plans a job."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    without_date = _NO_DATE.match(node.this.name) is not None
    clock = without_date or node.this.name.strip().lower() in _CLOCK
    if not clock or node.to.this.name not in _MOMENTS:
        return None
    message = f"'{node.this.name}' as a time is not deterministic: it is the clock's when it is evaluated"
    return refusal(node, message, refused()["now"].hint)


def _accuracy(node: exp.Expr) -> HeadgateError | None:
    """An approximate count that is asked to be exact takes gigabytes for each group."""
    approximate = isinstance(node, exp.Anonymous) and node.name.lower() in ("approx_count_distinct", "count_min_sketch")
    if not approximate or len(node.expressions) < 2:
        return None
    match = re.search(r"(\d*\.?\d+([eE]-?\d+)?)", form(node.expressions[1]))
    if match is not None and float(match[1]) >= _LEAST_ERROR:
        return None
    return refusal(node, f"the error of an approximate count is at least {_LEAST_ERROR:g}", "write such a constant")


def _time_of_day(node: exp.Expr) -> HeadgateError | None:
    """TIME, which sqlglot would write as TIMESTAMP: a time of the day, and with it the clock's date."""
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.TIME:
        return refusal(node, "the type TIME is not supported", "use a timestamp, or text")
    return None


def _shape(node: exp.Expr) -> HeadgateError | None:
    for kinds, message, hint in _SHAPES:
        if isinstance(node, kinds):
            return refusal(node, message, hint)
    return None


def _subquery(node: exp.Expr) -> HeadgateError | None:
    inside = isinstance(node.parent, exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Subquery | None)
    if not isinstance(node, exp.Query) or isinstance(node, exp.Table) or inside:
        return None
    return refusal(
        node,
        "a subquery inside an expression (scalar, IN or EXISTS) is not supported",
        "join with it in FROM: a stream within a time bound, or a stored table",
    )


def _star(node: exp.Expr) -> HeadgateError | None:
    """Stars are written out in the list of a SELECT; elsewhere they stand only in `count(*)`."""
    call = node.parent
    if not isinstance(node, exp.Star) or (isinstance(call, exp.Anonymous) and call.name.lower() == "count"):
        return None
    top: exp.Expr = node
    while top.parent is not None and not isinstance(top.parent, exp.Select):
        top = top.parent
    if top.arg_key == "expressions":
        return None
    return refusal(node, "* is not supported outside of the columns after SELECT", "list the columns")


_WINDOW_HINT = "aggregate with GROUP BY window(ts, '10 seconds') instead"
_SHAPES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], str, str], ...] = (
    (exp.Window, "window functions with OVER are not supported", _WINDOW_HINT),
    (
        (exp.Unnest, exp.Lateral),
        "functions that make several rows of one (explode, LATERAL) are not supported",
        "explode before the rows enter the stream, or use array functions",
    ),
    (exp.WithinGroup, "WITHIN GROUP is not supported", "use percentile(x, 0.5)"),
    ((exp.Any, exp.All), "ANY and ALL are not supported", "use bool_or(x) or bool_and(x)"),
    ((exp.Placeholder, exp.Parameter), "parameters are not supported", "write the value itself"),
    (exp.Values, "VALUES is not a stream", "read FROM a stream, or join with a stored table"),
    (exp.Pivot, "PIVOT is not supported over streams", "use sum(x) FILTER (WHERE …) per column"),
    (exp.TableSample, "TABLESAMPLE is not supported over streams", "filter on a column, for example WHERE id % 10 = 0"),
    (exp.Into, "INTO is not supported", "give the query a sink"),
)
_RULES: tuple[Callable[[exp.Expr], HeadgateError | None], ...] = (
    *(_shape, _star, _subquery, _clock, _time_of_day, _accuracy, _function),
)
