"""SQL text that several kinds of jobs have in common: literals, window calls, the time bound of a join."""

from __future__ import annotations

from headgate.model import Aggregate, Join
from headgate.spark.compile.quick_frames import SqlColumn
from headgate.spark.compile.schemas import FROM, OFFSET
from headgate.spark.compile.time_spans import micros


def literal(text: str) -> str:
    r"""A text as an SQL literal.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def interval(length: int) -> str:
    """A length in microseconds as an SQL interval.

    >>> interval(-1_500_000)
    "INTERVAL '-1.500000' SECOND"
    """
    seconds, rest = divmod(abs(length), 1_000_000)
    return f"INTERVAL '{'-' if length < 0 else ''}{seconds}.{rest:06d}' SECOND"


def origin_column(stream: str) -> SqlColumn:
    """The column `_from` of a stream's own rows: which tuple each of them is."""
    return SqlColumn(f"array(struct({literal(stream)} AS stream, {OFFSET} AS offset))", FROM)


def time_bound(node: Join) -> str:
    """The time bound of a join as a condition; one of width 0 is an equality, which Spark can hash."""
    if node.lower == node.upper == 0:
        return f"{node.left_time} = {node.right_time}"
    low, high = (f"{node.left_time} + {interval(micros(seconds))}" for seconds in (node.lower, node.upper))
    return f"{node.right_time} BETWEEN {low} AND {high}"


def window_call(node: Aggregate) -> str:
    """The windows that a row belongs to, as a call of Spark's `window`."""
    size, slide = (f"'{micros(length)} microseconds'" for length in (node.window.size, node.window.slide))
    return f"window({node.time}, {size}, {slide})"
