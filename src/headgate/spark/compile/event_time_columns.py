"""Follows an event time down a plan: what it is called in the inputs of an operator, and how its value changes.

To know which rows a window needs, its span of event time must be translated into spans of the streams' event times.
Each operator is one `Step`: a projection may rename the column, a join adds or takes away a side's name, and
`window(ts, '10 seconds').start` rounds the value down. Example: for `SELECT x.ts AS t FROM a x JOIN b y ON …` the
reference ("t",) is ("x", "ts") below the projection and ("ts",) below the join, on input 0.
A step also translates spans: starts of 10 s windows from 10 s to 20 s come from event times from 10 s to just before
30 s.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headgate.model import (
    Aggregate,
    EventTime,
    Except,
    HeadgateError,
    Join,
    Operator,
    Project,
    Source,
    Stream,
    TableJoin,
    Union,
    Window,
    form_of,
)
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.time_spans import Span, ceiling, floor, micros

_NAME = r"(?:`(?:[^`]|``)+`|\w+)"
_REF = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_WINDOW_BOUND = re.compile(rf"WINDOW\(({_REF.pattern}), '(\d+) (seconds|microseconds)'\)\.(start|end)")
_WINDOW_STRUCT = re.compile(rf"STRUCT\(({_REF.pattern}) AS start, ({_REF.pattern}) AS end\)")
START, END = ("window_start",), ("window_end",)


@dataclass(frozen=True, slots=True)
class Step:
    """A reference as one input knows it. With `window`, its value above is the start or end of the window around it."""

    input: int
    ref: Ref
    window: Window | None = None
    at_end: bool = False

    def down(self, span: Span) -> Span:
        """The values below that give these values above, rounded to whole windows."""
        if self.window is None or span.empty:
            return span
        size = micros(self.window.size)
        moved = span.plus(-size, -size) if self.at_end else span
        return Span(ceiling(moved.low, size), floor(moved.high, size) + size - 1)

    def up(self, span: Span) -> Span:
        """The values above that come from these values below."""
        return span if span.empty else Span(self.above(span.low), self.above(span.high))

    def above(self, moment: EventTime) -> EventTime:
        """The value above that comes from a value below."""
        if self.window is None:
            return moment
        size = micros(self.window.size)
        return floor(moment, size) + (size if self.at_end else 0)


def reference(text: str) -> Ref:
    """The parts of a reference.

    >>> reference("`my stream`.ts")
    ('my stream', 'ts')
    """
    return tuple(part[1:-1].replace("``", "`") if part[0] == "`" else part for part in re.findall(_NAME, text))


def is_reference(text: str) -> bool:
    """Whether an expression is a column, or a field of one, as it is.

    >>> is_reference("a.`my id`"), is_reference("a + 1")
    (True, False)
    """
    return _REF.fullmatch(text) is not None


def quoted(ref: Ref) -> str:
    """A reference as text that Spark reads, whatever the names.

    >>> quoted(("my stream", "ts"))
    '`my stream`.`ts`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in ref)


def column_names(node: Operator | Source, streams: Mapping[str, Stream]) -> tuple[str, ...]:
    """The column names of a node's rows, below any join that would qualify them."""
    match node:
        case Source():
            return streams[node.stream].columns
        case Project():
            return tuple(column.name for column in node.columns)
        case Aggregate():
            return (*START, *END, *(column.name for column in (*node.keys, *node.aggregates)))
    return column_names(node.inputs[0], streams)


def steps(node: Operator, ref: Ref, streams: Mapping[str, Stream]) -> tuple[Step, ...]:
    """Where a reference's value comes from: one input, every input of a union, or none if it is computed."""
    match node:
        case Project():
            return _of_projection(node, ref)
        case Join() | TableJoin():
            return _of_join(node, ref)
        case Union() | Except():
            return _by_position(node, ref, streams)
        case Aggregate():
            return ()
    return (Step(0, ref),)


def window_of(node: Operator | Source, ref: Ref, streams: Mapping[str, Stream]) -> tuple[Window, bool] | None:
    """The window whose start or end a reference is, and whether it is the end; None if it is neither."""
    if isinstance(node, Source):
        stream = streams[node.stream]
        return stream.windows.get(ref) if isinstance(stream, FragmentStream) else None
    if isinstance(node, Aggregate):
        return (node.window, ref == END) if ref in (START, END) else None
    for step in steps(node, ref, streams):
        if step.window is not None:
            return step.window, step.at_end
        return window_of(node.inputs[step.input], step.ref, streams)
    return None


def required_times(node: Operator, refs: Collection[Ref], streams: Mapping[str, Stream]) -> tuple[set[Ref], ...]:
    """The event times that an operator needs of each of its inputs, if the operators above need `refs` of it."""
    required: tuple[set[Ref], ...] = tuple(set() for _ in node.inputs)
    match node:
        case Aggregate():
            required[0].add(reference(node.time))
            return required
        case Except():
            for input_refs, ref in zip(required, window_columns(node, streams)[0], strict=True):
                input_refs.add(ref)
            return required
        case Join():
            required[0].add(reference(node.left_time)[bool(node.left) :])
            required[1].add(reference(node.right_time)[1:])
    for step in (step for ref in refs for step in steps(node, ref, streams)):
        required[step.input].add(step.ref)
    return required


def window_columns(node: Except, streams: Mapping[str, Stream]) -> tuple[tuple[Ref, Ref], bool]:
    """How the two sides of an EXCEPT refer to their common window, and whether both refer to its end."""
    sides = [column_names(side, streams) for side in node.inputs]
    for pair in zip(*sides, strict=True):
        for path in ((), ("start",), ("end",)):
            left, right = ((name, *path) for name in pair)
            windows = [window_of(side, ref, streams) for side, ref in zip(node.inputs, (left, right), strict=True)]
            if windows[0] is not None and windows[0] == windows[1]:
                return (left, right), windows[0][1]
    raise HeadgateError("EXCEPT without a common window", hint="select window_start at the same place on both sides")


def _of_projection(node: Project, ref: Ref) -> tuple[Step, ...]:
    expression = next((form_of(column.expression) for column in node.columns if column.name == ref[0]), "")
    if _REF.fullmatch(expression):
        return (Step(0, (*reference(expression), *ref[1:])),)
    if match := _WINDOW_BOUND.fullmatch(expression):
        size = int(match[2]) / (1 if match[3] == "seconds" else 1_000_000)
        return (Step(0, reference(match[1]), Window(size), match[4] == "end"),)
    if (match := _WINDOW_STRUCT.fullmatch(expression)) and ref[1:] in (("start",), ("end",)):
        return (Step(0, reference(match[1] if ref[1] == "start" else match[2])),)
    return ()


def _of_join(node: Join | TableJoin, ref: Ref) -> tuple[Step, ...]:
    other = node.right if isinstance(node, Join) else node.alias
    if ref[0] == other:
        return (Step(1, ref[1:]),) if isinstance(node, Join) else ()
    if not node.left:
        return (Step(0, ref),)
    return (Step(0, ref[1:]),) if ref[0] == node.left else ()


def _by_position(node: Union | Except, ref: Ref, streams: Mapping[str, Stream]) -> tuple[Step, ...]:
    columns = [column_names(side, streams) for side in node.inputs]
    if ref[0] not in columns[0]:
        return ()
    position = columns[0].index(ref[0])
    return tuple(Step(number, (side[position], *ref[1:])) for number, side in enumerate(columns))
