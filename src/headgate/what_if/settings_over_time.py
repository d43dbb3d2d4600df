"""What was scheduled, and what changed about it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headgate.core import (
    Declared,
    Event,
    PolicyChanged,
    PriorityChanged,
    QueryAdded,
    QueryMoved,
    QueryRemoved,
)
from headgate.core.trace import VERSION
from headgate.history.history import History
from headgate.history.records import Setting
from headgate.model import HeadgateError, Query, QueryClass, Stream, Table
from headgate.model.codec import from_plain
from headgate.plan.network import Network

_DAMAGE = (AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a setting tells: streams, classes and queries, and who decides."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    classes: Mapping[str, QueryClass]
    queries: Mapping[str, Query]
    policy: str
    fuse: str

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Scheduled:
        if header.get("trace") != VERSION:
            raise HeadgateError("this history is of another version", hint="record it again with this one")
        try:
            keys = ("streams", "tables", "classes", "queries")
            streams, tables, classes, queries = ({one.name: one for one in from_plain(header[key])} for key in keys)
            return cls(streams, tables, classes, queries, header["policy"], header["fuse"])
        except _DAMAGE as error:
            raise HeadgateError(f"its settings cannot be read: {error!r}", hint="record it again") from None

    def network(self, header: Mapping[str, Any]) -> Network:
        """The network as the scheduler has it after this setting, if queries were never removed."""
        streams, classes, tables = self.streams.values(), self.classes.values(), self.tables.values()
        share, reads = header.get("share", True), header.get("reads", False)
        return Network.of(self.queries.values(), streams, classes, tables, share=share, reads=reads)


@dataclass(frozen=True, slots=True)
class SettingsOverTime:
    """The first setting, and the events that lead to each further one."""

    header: Mapping[str, Any]
    first: Scheduled
    last: Scheduled
    changes: tuple[tuple[float, Event], ...]

    @classmethod
    def of(cls, history: History) -> SettingsOverTime:
        if not history.settings:
            raise HeadgateError("it does not tell what was scheduled", hint="record it again, or wait for a first run")
        settings = sorted(history.settings, key=lambda setting: setting.at)
        steps = [Scheduled.of(setting.header) for setting in settings]
        entered = _first_seen(history)
        changes: list[tuple[float, Event]] = []
        for former, now, setting in zip(steps, steps[1:], settings[1:], strict=False):
            at = _when(setting, now.queries.keys() - former.queries.keys(), entered, settings[0], history.began)
            at = max([at, *(before for before, _ in changes[-1:])])
            changes += [(at, event) for event in _events(former, now)]
        return cls(settings[0].header, steps[0], steps[-1], tuple(changes))

    def networks(self) -> Iterator[Network]:
        """The network at first, and after each change, with the numbers that the scheduler gave to operators."""
        network = self.first.network(self.header)
        yield network
        for _, event in self.changes:
            match event:
                case Declared(stream, query_class):
                    network = network.declare(stream, query_class)
                case QueryAdded(query):
                    network = network.add(query)
                case QueryRemoved(name):
                    network = network.remove(name)
                case _:
                    continue
            yield network


def _otherwise_new(former: Scheduled, query_class: QueryClass) -> bool:
    """Whether a class is new, or something else than its priority has changed."""
    before = former.classes.get(query_class.name)
    return before is None or replace(before, priority=query_class.priority) != query_class


def _first_seen(history: History) -> dict[str, float]:
    """The arrival of the first tuple that each query took: by then it was there."""
    seen: dict[str, float] = {}
    for run in history.runs:
        for query in run.queries:
            seen.setdefault(query, run.oldest)
    return seen


def _when(setting: Setting, added: set[str], entered: Mapping[str, float], first: Setting, began: float) -> float:
    """When a change happened: a setting is noted only after it, perhaps after the first runs of new queries."""
    at = min([setting.at, *(entered[query] for query in added if query in entered)])
    return max(at, min(first.at, began))


def _events(former: Scheduled, now: Scheduled) -> Sequence[Event]:
    kept = former.queries.keys() & now.queries.keys()
    same = {name for name in kept if former.queries[name].plan == now.queries[name].plan}
    # Declared before queries are removed: a stream that was dropped and made anew has no queries in between.
    events: list[Event] = [
        Declared(stream=stream) for name, stream in now.streams.items() if former.streams.get(name) != stream
    ]
    events += [Declared(query_class=each) for each in now.classes.values() if _otherwise_new(former, each)]
    events += [QueryRemoved(name) for name in former.queries if name not in same]
    events += [QueryAdded(query) for name, query in now.queries.items() if name not in same]
    events += [
        QueryMoved(name, now.queries[name].query_class)
        for name in now.queries
        if name in same and former.queries[name].query_class != now.queries[name].query_class
    ]
    events += [
        PriorityChanged(name, now.classes[name].priority)
        for name in now.classes
        if name in former.classes and former.classes[name].priority != now.classes[name].priority
    ]
    if (former.policy, former.fuse) != (now.policy, now.fuse):
        events.append(PolicyChanged(now.policy, now.fuse))
    return events
