"""The records of a history, and their lines of JSON.

A line holds one record, under the name of its kind:

    {"run": {"id": 7, "worker": 0, "unit": "fire", …}}
    {"arrivals": {"at": 12.0, "stream": "readings", "chunks": [[11.98, 160], [12.0, 158]]}}
    {"delivery": {"at": 12.4, "query": "fire", "commit": 31}}
    {"setting": {"at": 0.0, "origin": 0.0, "header": {…}}}

Times are seconds on the driver's clock: since 1970 on Spark, since the beginning in the simulator. `Setting.origin` is
the time that people count from, when the driver began.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headgate.model import HeadgateError, WaitingUnit, Why

VERSION = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The results that a run gave to one query, by the arrivals of the tuples which they are of.

    For the result of a window that is the tuple that closed it; its own tuples came `window` seconds before.
    """

    count: int
    mean_arrival: float
    oldest_arrival: float  # of the result that took longest
    released: float | None = None  # when its window closed, so that the tuples could be taken; None: none held them
    window: float = 0.0  # seconds that the result that took longest waited for its window, before that arrival
    mean_window: float = 0.0  # likewise, the mean of all


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: it began, was evaluated (its worker was free again), and ended (its results were committed)."""

    id: int
    worker: int
    unit: str
    query_class: str
    queries: tuple[str, ...]
    tuples: int
    oldest: float  # arrival of the oldest tuple that it took
    began: float
    evaluated: float
    ended: float
    predicted: float | None = None  # seconds from its beginning to its evaluation, by the cost model
    jobs: float = 0.0
    read: float = 0.0  # tuples
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by query; those without results are missing
    commit: int | None = None  # number of its last commit
    cancelled: bool = False  # for something more important: its tuples were taken again
    error: str | None = None
    takes: tuple[tuple[int, int, int], ...] = ()  # (queue, first, behind the last)
    operators: tuple[tuple[int, int, int], ...] = ()  # (operator, tuples in, tuples out)
    decision: int = 0  # its number, from 1; several runs may come of one
    why: Why | None = None

    @property
    def seconds(self) -> float:
        """How long a worker was busy with it."""
        return self.evaluated - self.began

    @property
    def results(self) -> int:
        return sum(answer.count for answer in self.answers.values())


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Tuples that came to a stream, up to a time."""

    at: float
    stream: str
    chunks: tuple[tuple[float, int], ...]  # (arrival, how many)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A query's sink has taken all results up to a commit."""

    at: float
    query: str
    commit: int
    seconds: float | None = None  # that the sink took for it; None: not recorded
    size: int | None = None  # bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """What was scheduled from a time on: the first line of a trace of it (streams, queries, classes, policy, costs)."""

    at: float
    origin: float
    header: Mapping[str, Any]


Record = RunRecord | Arrivals | Delivery | Setting
_KINDS: dict[str, Any] = {"run": RunRecord, "arrivals": Arrivals, "delivery": Delivery, "setting": Setting}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_line(record: Record) -> str:
    """A record as a line of JSON.

    >>> to_line(Delivery(12.4, "fire", 31)).strip()
    '{"delivery":{"at":12.4,"query":"fire","commit":31}}'
    """
    plain = {name: value for name, value in asdict(record).items() if value is not None}
    return json.dumps({_NAMES[type(record)]: plain}, separators=(",", ":"), ensure_ascii=False) + "\n"


def from_line(line: str | bytes) -> Record:
    """The record of a line.

    >>> from_line(to_line(Delivery(12.4, "fire", 31)))
    Delivery(at=12.4, query='fire', commit=31, seconds=None, size=None)
    """
    try:
        ((name, fields),) = json.loads(line).items()
        record: Record = _MAKE[name](fields) if name in _MAKE else _KINDS[name](**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise HeadgateError(f"this is not a line of a history: {error}", hint="is the file cut short?") from None
    return record


def _run(plain: dict[str, Any]) -> RunRecord:
    why = plain.pop("why", None)
    answers = {query: Answer(**answer) for query, answer in plain.pop("answers", {}).items()}
    lists: dict[str, Any] = {name: tuple(map(tuple, plain.pop(name, ()))) for name in ("takes", "operators")}
    lists["queries"] = tuple(plain.pop("queries"))
    return RunRecord(**plain, **lists, answers=answers, why=None if why is None else _why(why))


def _why(plain: dict[str, Any]) -> Why:
    waiting = plain.pop("waiting", ())
    for unit in waiting:
        unit["queries"] = tuple(unit["queries"])
    return Why(**plain, waiting=tuple([WaitingUnit(**unit) for unit in waiting]))


def _arrivals(plain: dict[str, Any]) -> Arrivals:
    return Arrivals(plain["at"], plain["stream"], tuple((arrival, count) for arrival, count in plain["chunks"]))


_MAKE: dict[str, Callable[[dict[str, Any]], Record]] = {"run": _run, "arrivals": _arrivals}
