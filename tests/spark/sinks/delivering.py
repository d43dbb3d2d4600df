"""Commits, recovery and delivery as the engine does them, in one thread and whenever a test says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from headgate.spark.execution.open_sinks import OpenSinks, stored_sinks
from headgate.spark.execution.recovery import complete
from headgate.spark.machine.tasks import CloseSink, Deliver
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.sinks.base import Call, SinkOf
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory

_ids = count(1)


def sinks_of(directory: DataDirectory) -> SinkOf:
    """What recovery opens where nobody has given functions."""
    return stored_sinks(directory, lambda text: None, FragmentLogs(directory).sink)


@dataclass(eq=False)
class Outbox:
    """What waits for a sink; once its query is gone and all is delivered, the sink is let go."""

    query: str
    sink: str
    waiting: list[tuple[int, Output]] = field(default_factory=list)
    over: bool = False
    id: int = field(default_factory=lambda: next(_ids))


class Store:
    """The commit log and the sinks of a data directory, recovered when they are opened.

    `calls` are the functions of queries whose sinks are callbacks.
    """

    def __init__(self, directory: DataDirectory, calls: Mapping[str, Call] | None = None) -> None:
        self.directory, self._calls = directory, dict(calls or {})
        self.commits = CommitLog(directory.commits)
        self.owed = complete(directory, self.commits, sinks_of(directory))
        self.outboxes = [
            Outbox(query, _sink(debt.description), debt.outputs, over=True) for query, debt in self.owed.items()
        ]
        self.outboxes += [Outbox(query, _sink(entry)) for query, entry in self.commits.state.queries.items()]
        self.sinks = OpenSinks(directory, lambda text: None)
        self.letters: dict[str, DeadLetters] = {}
        self._letters: list[tuple[int, str, Sequence[Any]]] = []  # those that wait: commit, stream, letters

    @property
    def positions(self) -> Mapping[str, Mapping[str, int]]:
        return self.commits.state.positions

    def commit(self, *commits: Commit) -> list[int]:
        """Make runs count that end together."""
        numbers = self.commits.append_all(commits)
        for number, commit in zip(numbers, commits, strict=True):
            self._take(number, commit)
        return numbers

    def _take(self, number: int, commit: Commit) -> None:
        self.outboxes += [Outbox(query, _sink(entry)) for query, entry in commit.queries.items() if entry is not None]
        for query, output in commit.outputs.items():
            self._outbox(query).waiting.append((number, output))
        for query, entry in commit.queries.items():
            if entry is None:
                self._outbox(query).over = True
        self._letters += [(number, stream, letters) for stream, letters in commit.letters.items()]

    def _outbox(self, query: str) -> Outbox:
        """The way to a query's sink, which is `parquet` where no commit has said otherwise."""
        for outbox in self.outboxes:
            if outbox.query == query and not outbox.over:
                return outbox
        self.outboxes.append(Outbox(query, "parquet"))
        return self.outboxes[-1]

    def deliver(self, part: float = 1.0) -> dict[str, Exception]:
        """Sinks take what waits, or a part of it, and streams their letters; gives what went wrong, by their names.

        A sink that fails holds back nobody else. What it refused, and what comes after it, waits.
        """
        errors: dict[str, Exception] = {}
        for outbox in list(self.outboxes):
            if outbox.query not in self._behind(outbox):
                _tried(errors, outbox.query, partial(self._deliver, outbox, round(part * len(outbox.waiting))))
        for entry in list(self._letters):
            if entry[1] not in errors:
                _tried(errors, entry[1], partial(self._keep, entry))
        return errors

    def _behind(self, outbox: Outbox) -> set[str]:
        """Queries with results that wait and must be delivered before those of an outbox."""
        return {other.query for other in self.outboxes[: self.outboxes.index(outbox)] if other.waiting}

    def _deliver(self, outbox: Outbox, number: int) -> None:
        if number:
            batch, call = outbox.waiting[:number], self._calls.get(outbox.query)
            self.sinks.deliver(Deliver(outbox.id, outbox.query, outbox.sink, batch, call=call))
            del outbox.waiting[:number]
        if outbox.over and not outbox.waiting:
            self.outboxes.remove(outbox)
            if not any(other.query == outbox.query for other in self.outboxes):
                self.sinks.close_sink(CloseSink(outbox.id, outbox.query))

    def _keep(self, entry: tuple[int, str, Sequence[Any]]) -> None:
        number, stream, letters = entry
        if stream not in self.letters:
            self.letters[stream] = DeadLetters(self.directory.letters(stream))
        self.letters[stream].keep_committed(number, letters)
        self._letters.remove(entry)

    def tidy(self) -> None:
        """Merge small files, and shorten the commit log by what nobody waits for."""
        waiting = [number for outbox in self.outboxes for number, _ in outbox.waiting]
        waiting += [number for number, _, _ in self._letters]
        upto = min([self.commits.number, *(number - 1 for number in waiting)])
        self.sinks.maintain(upto)
        self.commits.compact(upto)

    def close(self) -> None:
        """Deliver what is left, then let go."""
        self.deliver()
        self.sinks.close()
        self.commits.close()


def _sink(entry: Mapping[str, Any]) -> str:
    return str(entry.get("sink", "parquet"))


def _tried(errors: dict[str, Exception], name: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception as error:
        errors[name] = error
