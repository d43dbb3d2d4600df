"""What commits have promised: what is declared, from where to where each query has read, what it has given.

It hears of each commit before it is written and once it is acknowledged. A commit that was under way at a crash may
count or not: the log tells when it is opened again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.chaos.queries import Rows, Span, Text, leaves_of
from tests.spark.chaos.streams import StreamModel

from headgate.spark.machine.interfaces import key
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit

CutOf = Callable[[str], Mapping[str, int]]  # how far a query's results reach, by the places of its leaves


class BrokenError(BaseException):
    """A promise is broken. Not an Exception: nothing under test may catch it."""


@dataclass
class Epoch:
    """One SQL text of a query from where it began to where it ended."""

    text: Text
    starts: Mapping[str, int]
    until: Mapping[str, int] | None = None  # of a one-time query
    end: Mapping[str, int] | None = None  # None: it goes on

    def span(self, cut: Mapping[str, int]) -> Span:
        places = [key(place) for place, _ in leaves_of(self.text.sql)]
        return tuple((self.starts[place], cut[place]) for place in places)

    def results(self, known: Mapping[str, StreamModel], cut: Mapping[str, int]) -> Rows:
        return self.text.results(known, self.span(cut), ends=self.until is not None and cut == self.until)


@dataclass
class Generation:
    """A query from its start until it is stopped: what was replaced or skipped is part of it."""

    epochs: list[Epoch]  # none until it has begun
    said: Mapping[str, Any]
    positions: dict[str, int] = field(default_factory=dict)
    over: bool = False

    @property
    def begun(self) -> bool:
        """Whether it has a place in its streams; otherwise its start lies ahead."""
        return bool(self.epochs)

    @property
    def newest(self) -> Epoch:
        return self.epochs[-1]


@dataclass
class Attempt:
    """Commits that are being written, and how far the queries reach that end with them."""

    commits: Sequence[Commit]
    cuts: Mapping[str, Mapping[str, int]]


@dataclass
class Ledger:
    """Everything that was acknowledged."""

    texts: Callable[[str], Text]
    number: int = 0
    queries: dict[str, list[Generation]] = field(default_factory=dict)
    given: dict[str, Rows] = field(default_factory=dict)  # results in commits
    history: dict[int, str] = field(default_factory=dict)  # what each commit says
    catalog: dict[str, dict[str, Any]] = field(default_factory=dict)  # all that is declared but queries, by kind
    removed: Callable[[str], None] = lambda name: None  # told of queries that commits remove
    unsure: Attempt | None = None
    commits: int = 0
    vague: set[str] = field(default_factory=set)  # names of queries of whose results the oracle is not sure

    def living(self, name: str) -> Generation | None:
        """The query of a name, if commits say that there is one."""
        found = self.queries.get(name)
        return None if not found or found[-1].over else found[-1]

    def attempt(self, commits: Sequence[Commit], cut_of: CutOf) -> None:
        """Commits are about to be written."""
        ending = {name for commit in commits for name, said in commit.queries.items() if self._ends(name, said)}
        self.unsure = Attempt(commits, {name: cut_of(name) for name in ending})

    def acknowledged(self, numbers: Iterable[int]) -> None:
        assert self.unsure is not None
        attempt, self.unsure = self.unsure, None
        for number, commit in zip(numbers, attempt.commits, strict=True):
            self._apply(number, commit, attempt.cuts)

    def recovered(self, log: CommitLog) -> None:
        """The log is open again: it has all that was acknowledged, and of what was being written the first so many."""
        if log.number < self.number:
            raise BrokenError(f"{self.number} commits were acknowledged, the log has {log.number}")
        attempt, self.unsure = self.unsure or Attempt((), {}), None
        for number, commit in log.commits():
            if number <= self.number:
                if self.history[number] != _text(commit):
                    raise BrokenError(f"commit {number} says {_text(commit)}, acknowledged {self.history[number]}")
                continue
            if not attempt.commits or _text(commit) != _text(attempt.commits[0]):
                raise BrokenError(f"commit {number} was never written: {_text(commit)}")
            self._apply(number, attempt.commits[0], attempt.cuts)
            attempt.commits = attempt.commits[1:]
        queries = {name: found[-1].said for name, found in self.queries.items() if not found[-1].over}
        if json.dumps([log.state.catalog, log.state.queries]) != json.dumps([self.catalog, queries]):
            self._compare("the catalog", log.state.catalog, self.catalog)
            self._compare("queries", log.state.queries, queries)

    @staticmethod
    def _compare(what: str, found: Any, acknowledged: Any) -> None:
        if json.loads(json.dumps(found)) != json.loads(json.dumps(acknowledged)):
            raise BrokenError(f"{what}: commits have {found}, acknowledged {acknowledged}")

    def _ends(self, name: str, said: Mapping[str, Any] | None) -> bool:
        """Whether something ends if that is said of a query."""
        known = self.living(name)
        if known is None or not known.begun:
            return False
        return said is None or (said["sql"], said["starts"]) != (known.newest.text.sql, known.newest.starts)

    def _apply(self, number: int, commit: Commit, cuts: Mapping[str, Mapping[str, int]]) -> None:
        if number != self.number + 1:
            raise BrokenError(f"commit {number} follows {self.number}")
        self.number = number
        self.commits += 1
        self.history[number] = _text(commit)
        for kind, entries in commit.catalog.items():
            self.catalog.setdefault(kind, {}).update(entries)
            self.catalog[kind] = {entry: said for entry, said in self.catalog[kind].items() if said is not None}
        for name, output in commit.outputs.items():
            if "#" not in name:
                self.given.setdefault(name, Counter()).update(rows_of(output.table()))
        for name, said in commit.queries.items():
            self._say(name, said, cuts)
        for name, positions in commit.positions.items():
            known = self.living(name)
            if known is None or not known.begun:
                raise BrokenError(f"commit {number} has positions of '{name}', which is not there")
            for place, offset in positions.items():
                if place in known.newest.starts and offset < known.positions.get(place, 0):
                    if name in commit.queries:  # leaves of one stream stood apart when it got other SQL
                        self.vague.add(name)
                        continue
                    raise BrokenError(f"'{name}' goes back from {known.positions} to {positions}")
            known.positions.update(positions)

    def _say(self, name: str, said: Mapping[str, Any] | None, cuts: Mapping[str, Mapping[str, int]]) -> None:
        known = self.living(name)
        if known is not None and self._ends(name, said):
            known.newest.end = cuts[name]
        if said is None:
            if known is not None:
                known.over = True
                self.removed(name)
            return
        if known is None:
            known = Generation([], said)
            self.queries.setdefault(name, []).append(known)
        _check_times(name, known.said, said)
        known.said = said
        if "starts" not in said:
            if known.begun:
                raise BrokenError(f"'{name}' has begun, but a commit says that it has not")
            return
        epoch = Epoch(self.texts(said["sql"]), said["starts"], said.get("until"))
        if not known.begun:
            known.epochs.append(epoch)
        elif known.newest.end is None:
            if known.newest.until is None and epoch.until is not None:
                self.vague.add(name)  # a continuous query ends as a one-time query: its open windows give nothing
            known.newest.until = epoch.until
        else:
            known.epochs.append(epoch)
            known.positions = {}

    def expected(
        self, name: str, known: Mapping[str, StreamModel], cut: Mapping[str, int] | None, *, living: bool = False
    ) -> Rows:
        """All results of queries of a name, up to a cut in the streams of the one that goes on; or only those of it."""
        found: Rows = Counter()
        for generation in self.queries.get(name, ()):
            for epoch in () if living and generation.over else generation.epochs:
                end = epoch.end or cut
                if end is not None:
                    found += epoch.results(known, end)
        return found


class ToldCommits(CommitLog):
    """The engine's commit log; the ledger hears of what is written there."""

    def __init__(self, folder: Path, ledger: Ledger, cut_of: CutOf) -> None:
        super().__init__(folder)
        self._ledger, self._cut_of = ledger, cut_of

    def append_all(self, commits: Sequence[Commit]) -> list[int]:
        if self._file._failed:  # it accepts nothing, and what it may hold is an attempt before this one
            return super().append_all(commits)
        self._ledger.attempt(commits, self._cut_of)
        numbers = super().append_all(commits)
        self._ledger.acknowledged(numbers)
        return numbers


def _text(commit: Commit) -> str:
    """What a commit says, but for results."""
    return json.dumps([commit.positions, commit.queries, commit.catalog], sort_keys=True)


def _check_times(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """A query keeps its end, and its start as long as that lies ahead, whoever declares it again."""
    for when in ("begins", "ends"):
        if before.get(when) != now.get(when) and not (when == "begins" and "starts" in now):
            raise BrokenError(f"'{name}' {when} at {now.get(when)}, before at {before.get(when)}")


def rows_of(table: Any) -> Rows:
    """The rows of a result, times as microseconds."""
    columns = [
        (column.cast("int64") if "timestamp" in str(column.type) else column).to_pylist() for column in table.columns
    ]
    return Counter(zip(*columns, strict=True))
