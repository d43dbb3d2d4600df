"""Recovery at every start: complete what was committed before a crash, and delete what was not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.model import Query
from headgate.spark.compile.read_sets import sources
from headgate.spark.machine.definitions import DROPPED
from headgate.spark.machine.interfaces import key
from headgate.spark.sinks.base import Sink, SinkOf, deliver
from headgate.spark.store import disk
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, CommittedState, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory


@dataclass(frozen=True, slots=True)
class UndeliveredResults:
    """Committed results that a query's sink has not taken, in ascending order, and why it refused the first."""

    outputs: list[tuple[int, Output]]
    error: Exception
    description: Mapping[str, Any]  # of the query in commits at that time; it names the sink


def complete(directory: DataDirectory, commits: CommitLog, sink_of: SinkOf) -> dict[str, UndeliveredResults]:
    """Roll the commit log forward into sinks, fragment logs and dead-letter files; returns what sinks refused.

    Each durable sink takes each result once; intermediate rows (names with `#`) go to their fragment logs. `sink_of`
    opens a query's sink from its description at that commit. On return all sinks are closed and synced, and the folder
    `aside` has only files of undelivered results. After a sink has failed, all later results of its query are
    undelivered too, so that their order is kept.
    """
    roll_forward = _RollForward(directory, sink_of, commits.base())
    try:
        for number, commit in commits.commits():
            roll_forward.take(number, commit)
        roll_forward.keep_letters()
        roll_forward.sync()
    finally:
        roll_forward.close()
    for stream in commits.state.catalog.get(DROPPED, ()):
        directory.remove_stream(stream)  # a crash may have interrupted that
    _remove_all_but(
        directory.aside,
        {name.split("/")[0] for undelivered in roll_forward.undelivered.values() for name in _files(undelivered)},
    )
    return roll_forward.undelivered


def reached_offsets(state: CommittedState, queries: Iterable[Query]) -> dict[str, int]:
    """How far each stream was read at least, as commits say of these queries; its log must not end before that.

    A query knows the end of a stream from when it began, even if it has read nothing since then.

    >>> from headgate.model import Project, Source
    >>> query = Query(name="q", query_class="c", plan=Project(inputs=(Source("s"),)), sql="")
    >>> state = CommittedState(positions={"q": {"0": 20}}, queries={"q": {"starts": {"0": 5}}})
    >>> reached_offsets(state, [query])
    {'s': 20}
    """
    reached: dict[str, int] = {}
    for query in queries:
        description = state.queries.get(query.name, {})
        told = [state.positions.get(query.name, {}), *(description.get(kind, {}) for kind in ("starts", "until"))]
        told.append(description.get("cut", {}).get("base", {}))
        for place, source in sources(query.plan):
            offsets = (each.get(key(place), 0) for each in told)
            reached[source.stream] = max(reached.get(source.stream, 0), *offsets)
    return reached


@dataclass(slots=True)
class _RollForward:
    """The open sinks while commits are delivered to them.

    Commits are delivered one at a time: after a power cut, a sink may hold a later commit and lack an earlier one.
    """

    directory: DataDirectory
    sink_of: SinkOf
    state: CommittedState  # before the next commit
    undelivered: dict[str, UndeliveredResults] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    letters: dict[str, list[tuple[int, Sequence[Mapping[str, Any]]]]] = field(default_factory=dict)  # by stream

    def take(self, number: int, commit: Commit) -> None:
        for stream, letters in commit.letters.items():
            self.letters.setdefault(stream, []).append((number, letters))
        for stream in commit.catalog.get(DROPPED, ()):
            self.letters.pop(stream, None)  # whether it was dropped or is declared anew: these are of the former one
        for query, output in commit.outputs.items():
            self._deliver(query, number, output, commit.queries.get(query) or self.state.queries.get(query, {}))
        for query, description in commit.queries.items():
            if query in self.sinks and (description is None or description.get("sink") != self._sink(query)):
                self.sinks[query].sync()
                self.sinks.pop(query).close()  # from now on the query of this name has another sink
        self.state.apply(commit)

    def _sink(self, query: str) -> Any:
        return self.state.queries.get(query, {}).get("sink")

    def _deliver(self, query: str, number: int, output: Output, description: Mapping[str, Any]) -> None:
        if query in self.undelivered:
            self.undelivered[query].outputs.append((number, output))
            return
        try:
            if query not in self.sinks:
                self.sinks[query] = self.sink_of(query, description)
            if self.sinks[query].durable:
                deliver(self.sinks[query], [(number, output)], self.directory.aside)
        except Exception as error:
            self.undelivered[query] = UndeliveredResults([(number, output)], error, description)

    def keep_letters(self) -> None:
        """Store the dead letters of commits, now that it is known which streams were dropped later."""
        for stream, committed in self.letters.items():
            kept = DeadLetters(self.directory.letters(stream))
            for number, letters in committed:
                kept.keep_committed(number, letters)

    def sync(self) -> None:
        """Sync all sinks, since the commit log may be shortened before they are opened again."""
        for sink in self.sinks.values():
            sink.sync()

    def close(self) -> None:
        for sink in self.sinks.values():
            sink.close()


def _files(undelivered: UndeliveredResults) -> list[str]:
    return [name for _, output in undelivered.outputs for name in output.files]


def _remove_all_but(folder: Path, kept: set[str]) -> None:
    """Delete everything in a folder except some names."""
    for path in folder.iterdir():
        if path.name not in kept:
            disk.rmtree(path) if path.is_dir() else disk.unlink(path)
