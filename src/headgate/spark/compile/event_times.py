"""Event times of a plan: what a reference to one is called in the inputs below, and how its value changes."""

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
)
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.time_spans import Span, ceiling, floor, micros

_NAME = r"(?:`(?:[^`]|``)+`|\w+)"
_REF = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_CUT = re.compile(rf"WINDOW\(({_REF.pattern}), '(\d+) (seconds|microseconds)'\)\.(start|end)")
_BOTH = re.compile(rf"STRUCT\(({_REF.pattern}) AS start, ({_REF.pattern}) AS end\)")
START, END = ("window_start",), ("window_end",)


@dataclass(frozen=True, slots=True)
class Step:
    """A reference as one input knows it. With `cut` its value above is the start (or end) of the window around it."""

    input: int
    ref: Ref
    cut: Window | None = None
    end: bool = False

    def down(self, span: Span) -> Span:
        """Values below that give these above: exactly those, for whole windows."""
        if self.cut is None or span.empty:
            return span
        size = micros(self.cut.size)
        moved = span.plus(-size, -size) if self.end else span
        return Span(ceiling(moved.low, size), floor(moved.high, size) + size - 1)

    def up(self, span: Span) -> Span:
        """Values above that come of these below."""
        return span if span.empty else Span(self.above(span.low), self.above(span.high))

    def above(self, moment: EventTime) -> EventTime:
        """The value above that comes of one below."""
        if self.cut is None:
            return moment
        size = micros(self.cut.size)
        return floor(moment, size) + (size if self.end else 0)


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


def names(node: Operator | Source, streams: Mapping[str, Stream]) -> tuple[str, ...]:
    """The columns of rows that no join has qualified."""
    match node:
        case Source():
            return streams[node.stream].columns
        case Project():
            return tuple(column.name for column in node.columns)
        case Aggregate():
            return (*START, *END, *(column.name for column in (*node.keys, *node.aggregates)))
    return names(node.inputs[0], streams)


def steps(node: Operator, ref: Ref, streams: Mapping[str, Stream]) -> tuple[Step, ...]:
    """Where a reference's value comes from: one input, every input of a union, or none."""
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
    """The window that a reference names, and whether it is its end; None if it names none."""
    if isinstance(node, Source):
        stream = streams[node.stream]
        return stream.windows.get(ref) if isinstance(stream, FragmentStream) else None
    if isinstance(node, Aggregate):
        return (node.window, ref == END) if ref in (START, END) else None
    for step in steps(node, ref, streams):
        if step.cut is not None:
            return step.cut, step.end
        return window_of(node.inputs[step.input], step.ref, streams)
    return None


def asked(node: Operator, refs: Collection[Ref], streams: Mapping[str, Stream]) -> tuple[set[Ref], ...]:
    """The event times that an operator asks of each of its inputs, when those above ask it for `refs`."""
    found: tuple[set[Ref], ...] = tuple(set() for _ in node.inputs)
    match node:
        case Aggregate():
            found[0].add(reference(node.time))
            return found
        case Except():
            for own, ref in zip(found, window_columns(node, streams)[0], strict=True):
                own.add(ref)
            return found
        case Join():
            found[0].add(reference(node.left_time)[bool(node.left) :])
            found[1].add(reference(node.right_time)[1:])
    for step in (step for ref in refs for step in steps(node, ref, streams)):
        found[step.input].add(step.ref)
    return found


def window_columns(node: Except, streams: Mapping[str, Stream]) -> tuple[tuple[Ref, Ref], bool]:
    """How the two sides of an EXCEPT refer to their common window, and whether to its end."""
    sides = [names(side, streams) for side in node.inputs]
    for pair in zip(*sides, strict=True):
        for path in ((), ("start",), ("end",)):
            left, right = ((name, *path) for name in pair)
            found = [window_of(side, ref, streams) for side, ref in zip(node.inputs, (left, right), strict=True)]
            if found[0] is not None and found[0] == found[1]:
                return (left, right), found[0][1]
    raise HeadgateError("EXCEPT without a common window", hint="select window_start at the same place on both sides")


def _of_projection(node: Project, ref: Ref) -> tuple[Step, ...]:
    found = next((column.expression for column in node.columns if column.name == ref[0]), "")
    if _REF.fullmatch(found):
        return (Step(0, (*reference(found), *ref[1:])),)
    if match := _CUT.fullmatch(found):
        size = int(match[2]) / (1 if match[3] == "seconds" else 1_000_000)
        return (Step(0, reference(match[1]), Window(size), match[4] == "end"),)
    if (match := _BOTH.fullmatch(found)) and ref[1:] in (("start",), ("end",)):
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
    columns = [names(side, streams) for side in node.inputs]
    if ref[0] not in columns[0]:
        return ()
    place = columns[0].index(ref[0])
    return tuple(Step(number, (theirs[place], *ref[1:])) for number, theirs in enumerate(columns))
