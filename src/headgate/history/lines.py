"""Records as lines of JSON.

A line holds one record, under the name of its kind:

    {"setting": {"at": 0.0, "origin": 0.0, "header": {…}, "version": 2}}
    {"start": {"id": 7, "worker": 0, "unit": "fire", …}}
    {"why": {"run": 7, "policy": "hnr", …}}
    {"run": {"id": 7, "worker": 0, "unit": "fire", …}}
    {"arrivals": {"at": 12.0, "stream": "readings", "chunks": [[11.98, 160], [12.0, 158]]}}
    {"delivery": {"at": 12.4, "query": "fire", "commit": 31}}

A start is written when a run begins, so that one which is under way, or during which an engine died, is known. Why it
was chosen is a line of its own, which is decoded only when asked for (see `decision_line`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from headgate.history import decision_line
from headgate.history.records import VERSION, Answer, Arrivals, Delivery, Record, RunRecord, RunStart, Setting
from headgate.model import HeadgateError

_KINDS: dict[str, Any] = {
    "run": RunRecord,
    "start": RunStart,
    "arrivals": Arrivals,
    "delivery": Delivery,
    "setting": Setting,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_UNWRITTEN = frozenset({"recorded_why", "unfinished"})
_START = b'{"start":{"id":'
_WRONG = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_field_names: dict[type, tuple[str, ...]] = {}


# -- written ---------------------------------------------------------------------------------------------------


def to_lines(record: Record) -> bytes:
    r"""A record as a line of JSON; a run and its start may have a second one, why they were chosen.

    >>> to_lines(Delivery(12.4, "fire", 31))
    b'{"delivery":{"at":12.4,"query":"fire","commit":31}}\n'
    """
    line = _encoded({_NAMES[type(record)]: _plain(record)})
    if not isinstance(record, RunRecord | RunStart) or record.recorded_why is None:
        return line
    if isinstance(record.recorded_why, bytes):
        return line + record.recorded_why
    return line + _encoded({"why": {"run": record.id, **_plain(record.recorded_why)}})


def _encoded(plain: object) -> bytes:
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, default=_plain)
    return text.encode(errors="backslashreplace") + b"\n"


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that say something; not copied deeply, as they are written at once."""
    kind = type(record)
    if kind not in _field_names:
        _field_names[kind] = tuple(one.name for one in fields(record) if one.name not in _UNWRITTEN)
    return {name: value for name in _field_names[kind] if (value := getattr(record, name)) is not None}


# -- read ------------------------------------------------------------------------------------------------------


def from_line(line: str | bytes) -> Record:
    """The record of a line.

    >>> from_line(to_lines(Delivery(12.4, "fire", 31)))
    Delivery(at=12.4, query='fire', commit=31, seconds=None, size=None)
    """
    try:
        return _record(line)
    except _WRONG as error:
        raise HeadgateError(f"this is not a line of a history: {error}", hint="is the file cut short?") from None


def from_lines(lines: Iterable[bytes]) -> Iterator[Record]:
    """The records of lines; those that are cut off are left out, and starts of runs of which the end is known, too."""
    reader = LineReader()
    yield from reader.read(lines)
    yield from reader.under_way()


class LineReader:
    """Reads the lines of one start of a driver as they come, some at a time.

    Starts and decisions are not decoded until they are asked for: a start is of no interest once its run has ended,
    and then the decision belongs to the run.
    """

    def __init__(self) -> None:
        self._starts: dict[int, tuple[object, bytes]] = {}  # of runs under way: which source it is of, and its line
        self._decisions: dict[int, tuple[object, bytes]] = {}  # likewise, by run

    def read(self, lines: Iterable[bytes], source: object = None) -> Iterator[Record]:
        """The records of further lines, without starts; `source` says where they come from."""
        others: list[bytes] = []
        for line in lines:
            if line.startswith(decision_line.BEGINNING):
                _keep(self._decisions, source, line, decision_line.BEGINNING)
            elif line.startswith(_START):
                _keep(self._starts, source, line, _START)
            else:
                others.append(line)
        for line in others:
            try:
                record = _record(line)
            except _WRONG:
                continue
            if isinstance(record, RunRecord):
                self._starts.pop(record.id, None)
                _, decision = self._decisions.pop(record.id, (None, None))
                record = record if decision is None else replace(record, recorded_why=decision)
            yield record

    def under_way(self) -> Iterator[RunStart]:
        """The starts of runs of which the end is not known."""
        for number, (_, line) in self._starts.items():
            try:
                record = _record(line)
            except _WRONG:
                continue
            assert isinstance(record, RunStart)
            _, decision = self._decisions.get(number, (None, None))
            yield replace(record, recorded_why=decision)

    def forget(self, source: object) -> None:
        """Forget the starts and decisions of a source."""
        for kept in (self._starts, self._decisions):
            for number in [number for number, (of, _) in kept.items() if of == source]:
                del kept[number]


def _keep(kept: dict[int, tuple[object, bytes]], source: object, line: bytes, beginning: bytes) -> None:
    """Keep a line by the number behind its beginning, if it is whole and has one."""
    number = line[len(beginning) : line.find(b",", len(beginning))]
    if line.endswith(b"\n") and number.isdigit():
        kept[int(number)] = source, line


def _record(line: str | bytes) -> Record:
    text = line.decode() if isinstance(line, bytes) else line  # json would look for its encoding first
    ((name, plain),) = json.loads(text).items()
    record: Record = _MAKE[name](plain) if name in _MAKE else _KINDS[name](**plain)
    return record


def _run(plain: dict[str, Any]) -> RunRecord:
    _numbers(plain, "tuples", "oldest", "began", "evaluated", "ended")
    plain["answers"] = {query: Answer(**answer) for query, answer in plain.get("answers", {}).items()}
    for name in ("takes", "operators"):
        plain[name] = tuple(map(tuple, plain.get(name, ())))
    plain["queries"] = tuple(plain["queries"])
    return RunRecord(**plain)


def _start(plain: dict[str, Any]) -> RunStart:
    _numbers(plain, "tuples", "oldest", "began")
    plain["takes"] = tuple(map(tuple, plain.get("takes", ())))
    plain["queries"] = tuple(plain["queries"])
    return RunStart(**plain)


def _arrivals(plain: dict[str, Any]) -> Arrivals:
    return Arrivals(
        plain["at"], plain["stream"], tuple((arrival + 0.0, count + 0) for arrival, count in plain["chunks"])
    )


def _delivery(plain: dict[str, Any]) -> Delivery:
    _numbers(plain, "at", "commit")
    return Delivery(**plain)


def _numbers(plain: dict[str, Any], *names: str) -> None:
    """Refuse a line in which something else is where numbers should be: files are damaged now and then."""
    sum([plain[name] for name in names])


def _setting(plain: dict[str, Any]) -> Setting:
    """A setting; of one in another form only what does not change from form to form."""
    version = plain.get("version", 1)
    return Setting(plain["at"], plain["origin"], plain["header"] if version == VERSION else {}, version)


_MAKE: dict[str, Callable[[dict[str, Any]], Record]] = {
    "run": _run,
    "start": _start,
    "arrivals": _arrivals,
    "delivery": _delivery,
    "setting": _setting,
}
