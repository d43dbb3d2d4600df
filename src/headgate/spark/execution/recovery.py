"""After a crash, or any other start: complete what was committed, remove what was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.spark.sinks.base import Sink, SinkOf, deliver
from headgate.spark.store import disk
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, CommittedState, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory


@dataclass(frozen=True, slots=True)
class Owed:
    """Committed results that a query's sink has not taken, in rising order, and why it did not take the first."""

    outputs: list[tuple[int, Output]]
    error: Exception
    told: Mapping[str, Any]  # what commits said of the query when it failed: its sink is named there


def complete(directory: DataDirectory, commits: CommitLog, sink_of: SinkOf) -> dict[str, Owed]:
    """Bring all that the commit log has to where it belongs; gives what sinks did not take, by query.

    Results go to every durable sink, which takes each once, rows that wait inside a query (names with `#`) to their
    logs, letters to the files of their streams. `sink_of` opens a query's sink by what the commits had said of it by
    then; all sinks are closed on return, and what they have taken is on disk. `aside` has then the files of results
    that are owed, and nothing else. After a sink has failed, all later results of its query are owed too, since they
    must not overtake.
    """
    rolling = _Rolling(directory, sink_of, commits.base())
    try:
        for number, commit in commits.commits():
            rolling.take(number, commit)
        rolling.sync()
    finally:
        rolling.close()
    _empty(directory.aside, {name.split("/")[0] for owed in rolling.owed.values() for name in _files(owed)})
    return rolling.owed


@dataclass(slots=True)
class _Rolling:
    """The sinks while commits go there one by one.

    One by one, not several in a file: after a power cut a later commit may be in place and an earlier one not.
    """

    directory: DataDirectory
    sink_of: SinkOf
    state: CommittedState  # before the next commit
    owed: dict[str, Owed] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    letters: dict[str, DeadLetters] = field(default_factory=dict)

    def take(self, number: int, commit: Commit) -> None:
        for stream, letters in commit.letters.items():
            if stream not in self.letters:
                self.letters[stream] = DeadLetters(self.directory.letters(stream))
            self.letters[stream].keep_committed(number, letters)
        for query, output in commit.outputs.items():
            self._deliver(query, number, output, commit.queries.get(query) or self.state.queries.get(query, {}))
        for query, told in commit.queries.items():
            if query in self.sinks and (told is None or told.get("sink") != self._sink(query)):
                self.sinks[query].sync()
                self.sinks.pop(query).close()  # another query of this name, or the same started anew, with another one
        self.state.apply(commit)

    def _sink(self, query: str) -> Any:
        return self.state.queries.get(query, {}).get("sink")

    def _deliver(self, query: str, number: int, output: Output, told: Mapping[str, Any]) -> None:
        if query in self.owed:
            self.owed[query].outputs.append((number, output))
            return
        try:
            if query not in self.sinks:
                self.sinks[query] = self.sink_of(query, told)
            if self.sinks[query].durable:
                deliver(self.sinks[query], [(number, output)], self.directory.aside)
        except Exception as error:
            self.owed[query] = Owed([(number, output)], error, told)

    def sync(self) -> None:
        """The commit log may be shortened before anybody opens these sinks again."""
        for sink in self.sinks.values():
            sink.sync()

    def close(self) -> None:
        for sink in self.sinks.values():
            sink.close()


def _files(owed: Owed) -> list[str]:
    return [name for _, output in owed.outputs for name in output.files]


def _empty(folder: Path, kept: set[str]) -> None:
    """Remove all that is in a folder, except some names."""
    for left in folder.iterdir():
        if left.name not in kept:
            disk.rmtree(left) if left.is_dir() else disk.unlink(left)
