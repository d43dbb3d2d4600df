"""Commits and sinks together: what counts, and where it goes.

A run counts from `commit` on. `forward` then brings its results to the sinks, at once or later and several commits in
one file; `checkpoint` shortens the commit log by what the sinks have for certain.

A sink that fails (a full disk, a table that is gone) holds back its own query only: what it did not take stays
committed and is offered again at every `forward`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headgate.spark.store import disk
from headgate.spark.store.commit import CommitLog
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.sinks import Sink, SinkOf, deliver

Failed = Callable[[str, Exception], object]  # a query's name and what its sink said
Keep = Callable[[int, str, Sequence[Mapping[str, Any]]], object]  # a commit's number, a stream, its letters
Letters = dict[int, dict[str, Sequence[Mapping[str, Any]]]]  # by commit and stream
Pending = list[tuple[int, Commit]]


class Ledger:
    """The commit log of a data directory and its queries' sinks; several threads may commit.

    `failed` hears of every sink that fails; without it the first failure is raised once the others have been served.
    `keep` brings letters to a stream's dead letters, where a commit is kept once however often it comes.
    """

    def __init__(
        self, commits: CommitLog, aside: Path, sink_of: SinkOf, keep: Keep, failed: Failed | None = None
    ) -> None:
        self.commits, self.aside, self._sink_of, self._failed = commits, aside, sink_of, failed
        self._keep = keep
        self.sinks: dict[str, Sink] = {}
        self._pending: Pending = []
        self._committing = threading.Lock()
        self._forwarding = threading.RLock()
        self._tidying = threading.Lock()

    @property
    def positions(self) -> dict[str, dict[str, int]]:
        """Where each query stands, by leaf."""
        with self._committing:
            return {query: dict(leaves) for query, leaves in self.commits.state.positions.items()}

    @property
    def queries(self) -> dict[str, Mapping[str, Any]]:
        """What commits say of the queries."""
        with self._committing:
            return dict(self.commits.state.queries)

    def commit(self, commit: Commit) -> int:
        """Make a run count; durable on return."""
        with self._committing:
            for query in commit.outputs:
                self.sink(query, commit.queries.get(query) or self.commits.state.queries.get(query, {}))
            number = self.commits.append(commit)
            self._pending.append((number, commit))
            return number

    def sink(self, query: str, told: Mapping[str, Any]) -> Sink:
        """A query's sink, opened when it is first asked for."""
        if query not in self.sinks:
            self.sinks[query] = self._sink_of(query, told)
        return self.sinks[query]

    def forward(self) -> None:
        """Bring all that is committed to the sinks."""
        with self._forwarding:
            self.tell(self._forward())

    def _forward(self) -> dict[str, Exception]:
        with self._committing:
            pending, self._pending = self._pending, []
        waiting = gathered(pending)
        letters = {number: dict(commit.letters) for number, commit in pending if commit.letters}
        errors: dict[str, Exception] = {}
        try:
            self._keep_letters(letters, errors)
            for query, outputs in list(waiting.items()):
                try:
                    deliver(self.sinks[query], outputs, self.aside)
                    del waiting[query]
                except Exception as error:
                    errors[query] = error
        finally:  # nothing is lost, whatever ends it
            self._settle(pending, waiting.keys(), letters)
        return errors

    def _keep_letters(self, left: Letters, errors: dict[str, Exception]) -> None:
        """Bring letters to their streams, in the order of the commits; those that could not be kept stay in `left`."""
        full: dict[str, Exception] = {}  # a later commit's letters must not be kept before an earlier one's
        for number in sorted(left):
            for stream, letters in list(left[number].items()):
                try:
                    if stream in full:
                        raise full[stream]
                    self._keep(number, stream, letters)
                    del left[number][stream]
                except Exception as error:
                    full[stream] = error
                    errors.update(dict.fromkeys((letter["query"] for letter in letters), error))

    def wait(self, number: int, commit: Commit, queries: Collection[str]) -> None:
        """Keep what a commit has for some queries until their sinks take it."""
        left = _left(commit, queries, {})
        if left is not None:
            self._pending.append((number, left))

    def tidy(self) -> None:
        """Empty `aside`, except of what waits."""
        used = {folder for _, commit in self._pending for folder in _folders(commit)}
        for left in self.aside.iterdir():
            if left.name not in used:
                disk.rmtree(left) if left.is_dir() else disk.unlink(left)

    def _settle(self, pending: Pending, waiting: Collection[str], letters: Letters) -> None:
        """Be done with these commits, except with what they have for queries that wait."""
        rest: Pending = []
        for number, commit in pending:
            left = _left(commit, waiting, letters.get(number, {}))
            discard(self.aside, commit, left)
            if left is not None:
                rest.append((number, left))
            self.forget(commit, waiting)
        with self._committing:
            self._pending[:0] = rest

    def tell(self, errors: Mapping[str, Exception]) -> None:
        """Say which queries' sinks failed."""
        for query, error in errors.items():
            if self._failed is None:
                raise error
            self._failed(query, error)

    def forget(self, commit: Commit, waiting: Collection[str] = ()) -> None:
        """Let go of the sinks of queries that a commit has removed, unless they wait."""
        for query, told in commit.queries.items():
            if told is None and query in self.sinks and query not in waiting:
                self.sinks.pop(query).close()

    def checkpoint(self) -> None:
        """Forward everything, merge small files, and forget commits that the sinks have for certain.

        Merging takes long with many queries, so others may commit and forward meanwhile: only what was whole before is
        merged.
        """
        with self._tidying:
            with self._forwarding:
                with self._committing:
                    upto = self.commits.number
                behind = self._forward()
                self.tell(behind)
            unsure: dict[str, Exception] = {}
            for query, sink in list(self.sinks.items()):
                try:
                    if query not in behind:  # of a commit that it has in part, all must be there before it is merged
                        sink.compact(upto)
                    sink.sync()
                except Exception as error:
                    if query in self.sinks:  # else it has been removed meanwhile, perhaps with its files
                        unsure[query] = error
            if not unsure:
                self.commits.compact(min(upto, self._first_pending() - 1))
            self.tell(unsure)

    def _first_pending(self) -> int:
        with self._committing:
            return self._pending[0][0] if self._pending else self.commits.number + 1

    def close(self) -> None:
        """Forward what is left, then let go."""
        try:
            self.forward()
        finally:
            for sink in self.sinks.values():
                sink.close()
            self.commits.close()


def gathered(pending: Pending) -> dict[str, list[tuple[int, Output]]]:
    """Each query's results of several commits."""
    found: dict[str, list[tuple[int, Output]]] = {}
    for number, commit in pending:
        for query, output in commit.outputs.items():
            found.setdefault(query, []).append((number, output))
    return found


def discard(aside: Path, commit: Commit, left: Commit | None = None) -> None:
    """Remove what is left of the folders that a commit's files lay in, except of those in use still."""
    for folder in _folders(commit) - (_folders(left) if left is not None else set()):
        with suppress(OSError):
            disk.rmtree(aside / folder)


def _folders(commit: Commit) -> set[str]:
    return {name.split("/")[0] for output in commit.outputs.values() for name in output.files}


def _left(
    commit: Commit, waiting: Collection[str], letters: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Commit | None:
    """What a commit has for queries that wait: results, and that a query is removed, since its sink is needed still.

    And the letters that could not be kept.
    """
    outputs = {query: output for query, output in commit.outputs.items() if query in waiting}
    removed = {query: None for query, told in commit.queries.items() if told is None and query in waiting}
    if not (outputs or removed or letters):
        return None
    return Commit(commit.run, outputs=outputs, queries=removed, letters=letters)
