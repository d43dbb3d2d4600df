"""The state with which an engine starts: a scheduler without queries, and a machine that knows what commits say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.core import RecordingScheduler, Scheduler
from headgate.model import WHOLE_QUEUE
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.policies.guarded import Guarded
from headgate.spark.execution.open_sinks import first_undelivered, sizes
from headgate.spark.execution.recovery import UndeliveredResults
from headgate.spark.jvm.errors import one_line
from headgate.spark.machine.interfaces import RememberedQuery, StreamFacts
from headgate.spark.machine.machine import Machine
from headgate.spark.queries.fragment_logs import is_fragment_log, query_of
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.directory import DataDirectory
from headgate.stats import Measured

# Seconds per operator between two updates of statistics. These take some tenths of a millisecond per operator: with a
# thousand queries they were more than half of all scheduling when they came five times as often.
REST = 0.02


def new_scheduler(policy: str, fuse: Fuse, seed: int, workers: int, record: Callable[[str], Any] | None) -> Scheduler:
    """A scheduler without streams and queries; `record` gets the lines of a trace, if one is wanted."""
    network = Network.of([], [], [], share=False)
    settings: dict[str, Any] = {
        "measured": Measured.of(network, fits_overhead=True),
        "learn": True,
        "train": WHOLE_QUEUE,
        "fuse": fuse,
        "seed": seed,
        "rest": REST,
        "guard": Guarded,
        "workers": workers,
    }
    if record is None:
        return Scheduler(network, policy, **settings)
    return RecordingScheduler(network, policy, write=record, **settings)


def new_machine(
    scheduler: Scheduler,
    facts: StreamFacts,
    directory: DataDirectory,
    commits: CommitLog,
    undelivered: Mapping[str, UndeliveredResults],
    workers: int,
    *,
    held: bool = False,
) -> Machine:
    """A machine that remembers what commits say, with the results that recovery could not deliver.

    If it is `held`, no run starts before `Begin`.
    """
    machine = Machine(
        scheduler,
        facts,
        workers=workers,
        remembered=_remembered(commits, undelivered, first_undelivered(directory, commits)),
        catalog=commits.state.catalog,
        commits=commits.number,
        held=held,
        explain=one_line,
    )
    for name, results in undelivered.items():
        if not is_fragment_log(name):
            sink = str(results.description.get("sink", "parquet"))
            machine.delivery.add_undelivered(name, sink, sizes(results.outputs))
    return machine


def _remembered(
    commits: CommitLog, undelivered: Mapping[str, UndeliveredResults], first_uncalled: Mapping[str, int]
) -> dict[str, RememberedQuery]:
    """What commits say about queries, with committed rows that are not in their fragment logs yet."""
    unappended: dict[str, list[tuple[str, int, Any]]] = {}
    for name, results in undelivered.items():
        if is_fragment_log(name):
            rows = [(name, number, output) for number, output in results.outputs]
            unappended.setdefault(query_of(name), []).extend(rows)
    state = commits.state
    return {
        name: RememberedQuery(
            dict(description),
            dict(state.positions.get(name, {})),
            tuple(unappended.get(name, ())),
            first_uncalled.get(name),
        )
        for name, description in state.queries.items()
    }
