"""After a crash, or any other start: complete what was committed, remove what was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.spark.store.commit import CommitLog
from headgate.spark.store.deadletters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.ledger import Failed, Keep, Ledger, SinkOf, forward
from headgate.spark.store.sinks import Sink, open_sink, parse_sink


def recover(
    directory: DataDirectory,
    sink_of: SinkOf | None = None,
    failed: Failed | None = None,
    keep: Keep | None = None,
) -> Ledger:
    """Open the commit log, roll every durable sink forward, complete the dead letters, empty `aside`.

    Which sink a query has is what its commits say under `sink`, `parquet` if they say nothing; `sink_of` may say
    otherwise, and must where a callback is to be called again. With `failed`, a sink that fails is told there, and its
    results wait; without it that is raised. `keep` takes letters of commits to come; without it their files do.
    """
    commits = CommitLog(directory.commits)
    stored = stored_letters(directory)
    ledger = Ledger(commits, directory.aside, sink_of or stored_sinks(directory), keep or stored, failed)
    state = commits.base()  # sinks as they were said to be at each commit, not as they are at the end
    errors: dict[str, Exception] = {}
    for number, commit in commits.commits():
        for stream, letters in commit.letters.items():
            stored(number, stream, letters)
        state.queries.update({query: told for query, told in commit.queries.items() if told is not None})
        for query, output in commit.outputs.items():
            sink = ledger.sink(query, state.queries.get(query, {}))
            if sink.durable and query not in errors:
                try:  # one commit at a time: after a power cut a later one may be in place, an earlier one not
                    forward(sink, [(number, output)], directory.aside)
                except Exception as error:
                    errors[query] = error
        ledger.wait(number, commit, errors)
        state.apply(commit)
        ledger.forget(commit, errors)
    ledger.tidy()
    ledger.tell(errors)
    return ledger


def stored_letters(directory: DataDirectory) -> Keep:
    """Letters into the files of their streams."""
    opened: dict[str, DeadLetters] = {}

    def keep(number: int, stream: str, letters: Sequence[Mapping[str, Any]]) -> None:
        if stream not in opened:
            opened[stream] = DeadLetters(directory.letters(stream))
        opened[stream].keep_committed(number, letters)

    return keep


def stored_sinks(directory: DataDirectory) -> SinkOf:
    """Sinks as the commits name them; what nobody gave a function for, a callback or a table, goes nowhere."""

    def sink_of(query: str, told: Mapping[str, Any]) -> Sink:
        text = str(told.get("sink", "parquet"))
        if parse_sink(text).name in ("callback", "table"):
            text = "blackhole"
        return open_sink(text, directory.result(query))

    return sink_of
