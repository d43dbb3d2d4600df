"""What cannot run continuously, and the sentence that says what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from headgate.model import HeadgateError
from headgate.plan.sql.parse import refusal

_RANDOM = "put the random value into the stream as a column"
_CLOCK = "use the stream's event-time column"
_PLACE = "put the value into the stream as a column"
_NONDETERMINISTIC = MappingProxyType(  # by the name in Spark: what to use instead
    {
        "rand": _RANDOM,
        "randn": _RANDOM,
        "random": _RANDOM,
        "randstr": _RANDOM,
        "uniform": _RANDOM,
        "uuid": _RANDOM,
        "shuffle": _RANDOM,
        "now": _CLOCK,
        "current_timestamp": _CLOCK,
        "current_date": _CLOCK,
        "current_time": _CLOCK,
        "current_timezone": _CLOCK,
        "localtimestamp": _CLOCK,
        "unix_timestamp": _CLOCK,
        "monotonically_increasing_id": _PLACE,
        "spark_partition_id": _PLACE,
        "input_file_name": _PLACE,
        "input_file_block_start": _PLACE,
        "input_file_block_length": _PLACE,
        "current_user": _PLACE,
        "session_user": _PLACE,
        "user": _PLACE,
        "current_database": _PLACE,
        "current_schema": _PLACE,
        "current_catalog": _PLACE,
        "version": _PLACE,
    }
)
_EARLIEST = "use min(x), or min_by(x, ts) for the earliest"
_LATEST = "use max(x), or max_by(x, ts) for the latest"
_SORTED = "sort what it collects: sort_array(collect_list(x))"
_JOINED = "use array_join(sort_array(collect_list(x)), ',')"
_UNORDERED = MappingProxyType(
    {
        "first": _EARLIEST,
        "first_value": _EARLIEST,
        "any_value": _EARLIEST,
        "last": _LATEST,
        "last_value": _LATEST,
        "collect_list": _SORTED,
        "collect_set": _SORTED,
        "array_agg": _SORTED,
        "listagg": _JOINED,
        "string_agg": _JOINED,
        "mode": "write mode(x, true), which takes the smallest of those that are equally frequent",
    }
)
_OUTSIDE = frozenset({"reflect", "java_method", "try_reflect", "read_files", "ai_query", "http_request"})
_BARE = frozenset({"localtimestamp", "current_time"})  # functions that sqlglot takes for columns

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


def spark_name(node: exp.Expr) -> str:
    """A function's name as Spark writes it, in lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return (
        node.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.IGNORE).partition("(")[0].strip().lower()
    )


def _function(node: exp.Expr) -> HeadgateError | None:
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in _BARE:
        return _nondeterministic(node, node.name.lower())
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector | exp.Cast | exp.Case | exp.Binary):
        return None
    name = spark_name(node)
    if name in _OUTSIDE:
        return refusal(node, f"{name}() reaches outside the data", "compute the value before it enters the stream")
    if name in _NONDETERMINISTIC and not (name == "unix_timestamp" and not node.find(exp.CurrentTimestamp)):
        return _nondeterministic(node, name)
    if name in _UNORDERED and not isinstance(node.parent, exp.ArraySort) and not _settled(node):
        return refusal(node, f"{name}() is not deterministic: its value depends on the order of rows", _UNORDERED[name])
    return None


def _settled(node: exp.Expr) -> bool:
    """Whether `mode` is told to be deterministic."""
    asked = node.args.get("deterministic")
    return isinstance(asked, exp.Boolean) and bool(asked.this)


def _nondeterministic(node: exp.Expr, name: str) -> HeadgateError:
    message = f"{name}() is not deterministic: its value depends on when and how often it is evaluated"
    return refusal(node, message, _NONDETERMINISTIC[name])


def _shape(node: exp.Expr) -> HeadgateError | None:
    for kinds, message, hint in _SHAPES:
        if isinstance(node, kinds):
            return refusal(node, message, hint)
    if isinstance(node, exp.Anonymous) and spark_name(node) == "session_window":
        return refusal(node, "session windows are not supported", "use window(ts, '10 seconds')")
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


_WINDOW_HINT = "aggregate with GROUP BY window(ts, '10 seconds') instead"
_SHAPES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], str, str], ...] = (
    (exp.Window, "window functions with OVER are not supported", _WINDOW_HINT),
    (exp.QueryTransform, "TRANSFORM USING reaches outside the data", "use Spark's own functions"),
    (
        (exp.Explode, exp.Inline, exp.Posexplode, exp.Stack, exp.Unnest, exp.Lateral),
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
_RULES: tuple[Callable[[exp.Expr], HeadgateError | None], ...] = (_shape, _subquery, _function)
