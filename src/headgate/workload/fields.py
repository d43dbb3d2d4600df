"""Value types of the file that TOML does not have: durations, trains, columns, QoS graphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from headgate.model import HeadgateError, QoS, Target, Train, Value, check_name, folded, seconds, unknown
from headgate.model.values import as_text, not_negative, priority
from headgate.plan.fusion import Fuse
from headgate.workload.settings import bare
from headgate.workload.workload import SOURCE_ORDERS, LoadBy, LoadOf

DEEPEST_TYPE, LONGEST_TYPE = 20, 10_000  # types within each other; characters

T = TypeVar("T")
_COLUMN = re.compile(r"(`(?:[^`]|``)+`|\S+)\s+(.+)", re.DOTALL)  # a name, if need be in backquotes, and its type


def read_seconds(value: Value) -> float:
    """Seconds, from text with a unit.

    >>> read_seconds("250 ms"), read_seconds(0)
    (0.25, 0.0)
    >>> read_seconds("5")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: has no unit, found 5; write "5 s" or "5 ms"
    """
    text = as_text(value).strip("' ") if isinstance(value, str | int | float) else ""
    if bare(text) and float(text) != 0.0:
        raise HeadgateError(f"has no unit, found {text}", hint=f'write "{text} s" or "{text} ms"')
    if not text or isinstance(value, bool) or text.startswith("["):
        raise HeadgateError(f"is not a duration, found {as_text(value)}", hint='write for example "250 ms"')
    return seconds(text, what="it")


def read_length(value: Value) -> float:
    """A duration above 0 and below infinity."""
    length = read_seconds(value)
    if not 0.0 < length < inf:
        raise HeadgateError(f"must be more than 0 and finite, found {as_text(value)}", hint='write for example "10 s"')
    return length


def read_cost(value: Value) -> float:
    """A finite duration, possibly 0."""
    length = read_duration(value)
    if length == inf:
        raise HeadgateError(f"must be finite, found {as_text(value)}", hint='write for example "5 ms"')
    return length


def read_duration(value: Value) -> float:
    """A duration, possibly 0 or infinite."""
    return not_negative(read_seconds(value), value)


def read_span(value: object) -> float:
    """The same from Python, where a number is seconds.

    >>> read_span(2), read_span("2 s"), read_span("500 ms")
    (2.0, 2.0, 0.5)
    >>> read_span(float("nan"))
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: is not a duration, found nan; write for example "250 ms"
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return not_negative(float(value), value)
        except OverflowError:
            return inf
    return read_duration(value)  # type: ignore[arg-type]


def read_ahead(value: Value) -> float:
    """A duration that may be missing.

    >>> read_ahead("1 h"), read_ahead("none")
    (3600.0, inf)
    """
    return inf if value == "none" else read_duration(value)


def read_train(value: Value | Mapping[str, Value]) -> Train:
    """How many tuples a run takes.

    >>> read_train("all"), read_train(100).at_most, read_train(0.3).fraction
    (Train(at_most=None, fraction=1.0, threshold=0, fits=None), 100, 0.3)
    >>> read_train({"ratio": 0.3, "threshold": 50})
    Train(at_most=None, fraction=0.3, threshold=50, fits=None)
    """
    if value == "all":
        return Train()
    if isinstance(value, Mapping):
        return _read_ratio(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return Train(at_most=value)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return Train(fraction=value)
    hint = 'write "all", a number of tuples, or a share of the queue such as 0.3'
    raise HeadgateError(f"is not a train, found {as_text(value)}", hint=hint)


def _read_ratio(value: Mapping[str, Value]) -> Train:
    """A share of the queue, and what it must exceed: of a shorter queue a run takes all."""
    ratio, threshold = value.get("ratio"), value.get("threshold")
    whole = isinstance(threshold, int) and not isinstance(threshold, bool) and threshold >= 0
    if value.keys() != {"ratio", "threshold"} or not (isinstance(ratio, float) and 0.0 < ratio < 1.0 and whole):
        shown = ", ".join(f"{key} = {as_text(one)}" for key, one in value.items())
        hint = "write { ratio = 0.3, threshold = 50 }: a share below 1, and a whole number of tuples"
        raise HeadgateError(f"is not a train, found {{ {shown} }}", hint=hint)
    return Train(fraction=ratio, threshold=threshold)  # type: ignore[arg-type]


def read_columns(value: Value) -> tuple[tuple[str, str], ...]:
    """Columns and their types.

    >>> read_columns("id bigint, price decimal(10, 2)")
    (('id', 'bigint'), ('price', 'decimal(10, 2)'))
    >>> read_columns("`unit price` decimal(10, 2), `größe` int")
    (('unit price', 'decimal(10, 2)'), ('größe', 'int'))
    """
    hint = 'write for example "id bigint, temp double, ts timestamp"'
    if not isinstance(value, str):
        raise HeadgateError(f"must be text, found {as_text(value)}", hint=hint)
    columns = []
    for part in _outside_brackets(value):
        found = _COLUMN.fullmatch(part.strip())
        if found is None:
            raise HeadgateError(f"'{part.strip()}' is not a column and its type", hint=hint)
        columns.append((_unquoted(found[1]), found[2]))
    return check_columns(columns)


def columns_text(columns: Iterable[tuple[str, str]]) -> str:
    """Columns as `read_columns` reads them: a name that is no plain word is in backquotes, as in SQL.

    >>> columns_text([("id", "bigint"), ("unit price", "double")])
    'id bigint, `unit price` double'
    """
    return ", ".join(f"{name if name.isidentifier() else _quoted(name)} {kind}" for name, kind in columns)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if len(name) > 2 and name[0] == name[-1] == "`" else name


def check_columns(columns: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Refuse columns that SQL could not tell apart (it reads ID and id as one) or that nobody could see.

    >>> check_columns([("id", "int"), ("ID", "int")])
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: column 'ID' is given twice; keep one of them
    """
    seen: set[str] = set()
    for name, kind in columns:
        if len(kind) > LONGEST_TYPE or _depth(kind) > DEEPEST_TYPE:  # Spark reads such types for minutes
            hint = f"use at most {DEEPEST_TYPE} types within each other, and {LONGEST_TYPE} characters"
            raise HeadgateError(f"the type of column '{name[:40]}' is too deep or too long", hint=hint)
        if not name.isprintable():
            hint = "use letters, digits and '_'"
            raise HeadgateError(f"column {name!a} has characters that cannot be printed", hint=hint)
        if folded(name) in seen:
            raise HeadgateError(f"column '{name}' is given twice", hint="keep one of them")
        seen.add(folded(name))
    return tuple(columns)


def _depth(kind: str) -> int:
    depth = deepest = 0
    for character in kind:
        depth += (character in "(<") - (character in ")>")
        deepest = max(deepest, depth)
    return deepest


def _outside_brackets(text: str) -> list[str]:
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "`"
        if not quoted:
            depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def read_name(value: Value) -> str:
    """Text that can serve as a name."""
    if not isinstance(value, str):
        raise HeadgateError(f"must be text, found {as_text(value)}", hint="put it in quotes")
    return check_name(value, "the text")


def read_names(value: Value) -> list[str]:
    """One name or a list of them."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise HeadgateError(f"must be a list of streams, found {as_text(value)}", hint='write for example from = ["s"]')
    return [str(item) for item in value]


def read_operator(value: Value) -> str | int:
    """An operator's name, or its place in the query."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise HeadgateError(f"is not an operator, found {as_text(value)}", hint="write its name, or its place from 0")
    return value


def read_fuse(value: Value) -> Fuse:
    """Which queries may share a job."""
    return Fuse(_one_of(value, [fuse.value for fuse in Fuse]))


def read_statistics(value: Value) -> str:
    """Where statistics come from."""
    return _one_of(value, ["given", "measured"])


def read_load_of(value: Value) -> LoadOf:
    """What counts for the load."""
    return LoadOf(_one_of(value, [each.value for each in LoadOf]))


def read_load_by(value: Value) -> LoadBy:
    """What is scaled for the load."""
    return LoadBy(_one_of(value, [each.value for each in LoadBy]))


def read_sources(value: Value) -> str:
    """In which order sources are read."""
    return _one_of(value, list(SOURCE_ORDERS))


def read_windows(value: Value) -> str:
    """What response times of windows count from."""
    return _one_of(value, ["closing", "end"])


def _one_of(value: Value, choices: list[str]) -> str:
    if not isinstance(value, str):
        raise HeadgateError(f"must be text, found {as_text(value)}", hint=f"write one of {', '.join(choices)}")
    if value not in choices:
        raise unknown("value", value, choices)
    return value


def read_qos(value: Value) -> QoS:
    """A utility for each latency in seconds, as pairs."""
    points = value if isinstance(value, list) else [value]
    for point in points:
        if not (isinstance(point, list) and len(point) == 2 and all(map(_finite, point))):
            hint = "write qos = [[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]]: latency in seconds, utility"
            raise HeadgateError(f"must be a list of pairs of numbers, found {str(point)[:60]}", hint=hint)
    return QoS.of(points)  # type: ignore[arg-type]


def read_target(value: Value) -> Target:
    """How soon results are wanted.

    >>> str(read_target("p99 2 s"))
    'p99 2 s'
    """
    if not isinstance(value, str):
        raise HeadgateError(f"must be text, found {as_text(value)}", hint='write target = "500 ms" or "p99 2 s"')
    return Target.parse(value)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _validator(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """A pydantic validator of a reading function; pydantic adds to its errors which setting they are about."""

    def validate(value: Any) -> T:
        try:
            return read(value)
        except HeadgateError as error:
            context = {"message": error.message, "hint": error.hint}
            raise PydanticCustomError("headgate", "{message}", context) from None

    return validate


Duration = Annotated[float, BeforeValidator(_validator(read_duration))]
Length = Annotated[float, BeforeValidator(_validator(read_length))]
Ahead = Annotated[float, Field(allow_inf_nan=True), BeforeValidator(_validator(read_ahead))]
Cost = Annotated[float, BeforeValidator(_validator(read_cost))]
TrainSize = Annotated[Any, BeforeValidator(_validator(read_train))]
Columns = Annotated[Any, BeforeValidator(_validator(read_columns))]
Name = Annotated[str, BeforeValidator(_validator(read_name))]
Names = Annotated[list[str], BeforeValidator(_validator(read_names))]
OperatorPosition = Annotated[Any, BeforeValidator(_validator(read_operator))]
Fusing = Annotated[Any, BeforeValidator(_validator(read_fuse))]
LoadCounts = Annotated[Any, BeforeValidator(_validator(read_load_of))]
LoadScales = Annotated[Any, BeforeValidator(_validator(read_load_by))]
Statistics = Annotated[str, BeforeValidator(_validator(read_statistics))]
Sources = Annotated[str, BeforeValidator(_validator(read_sources))]
Windows = Annotated[str, BeforeValidator(_validator(read_windows))]
Graph = Annotated[Any, BeforeValidator(_validator(read_qos))]
Wanted = Annotated[Any, BeforeValidator(_validator(read_target))]
Priority = Annotated[float, BeforeValidator(_validator(priority))]
