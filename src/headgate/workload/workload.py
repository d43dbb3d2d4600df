"""A workload: everything that a workload file describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from headgate.model import ONE_TUPLE, Kind, Query, QueryClass, Stream, Table, Train
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network

# Orders in which sources are read, and whether that is by cores of their own.
SOURCE_ORDERS: Mapping[str, bool] = MappingProxyType({"rr": True, "mbd": True, "last": False})


class LoadOf(StrEnum):
    """What keeps the cores busy, as far as it counts for the load."""

    ALL = "all"
    COSTS = "costs"  # of tuples only, without the overheads of calls and runs


class LoadBy(StrEnum):
    """What is scaled so that a workload has the load it asks for."""

    COSTS = "costs"  # with all overheads
    RATES = "rates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that is different from a moment on. Which fields are set says what changes.

    A stream's `rate`; the `selectivity` or `cost` of an operator (by its name, or by its place among the operators of
    `query` in the network, `Network.operators`: inputs first); a class's `priority`; a query's `query_class`; the
    `policy`.
    """

    at: float
    stream: str | None = None
    rate: float | None = None
    query: str | None = None
    operator: str | int | None = None
    selectivity: float | None = None
    cost: float | None = None
    query_class: str | None = None
    priority: float | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Streams, classes, queries and what happens to them: what a workload file says."""

    name: str
    duration: float  # seconds; inf: until it is stopped, on the engine
    streams: tuple[Stream, ...]
    classes: tuple[QueryClass, ...]
    queries: tuple[Query, ...]
    tables: tuple[Table, ...] = ()
    changes: tuple[Change, ...] = ()
    seed: int = 1
    cores: int = 1  # operational cores: the simulator's workers
    source_cores: int = 1  # cores that read sources; 0: the operational cores do, when the policy says
    sources: str = ""  # in which order they are read: one of SOURCE_ORDERS, or as they arrive or as the policy says
    windows: str = "closing"  # what results of windows count from: the tuple that closes theirs, or its "end"
    drain: bool = True  # go on after the duration until nothing waits
    load: float | None = None  # scale all costs or rates so that the cores are this busy
    load_of: LoadOf = LoadOf.ALL  # what counts for the load
    load_by: LoadBy = LoadBy.COSTS  # what is scaled
    train: Train = ONE_TUPLE  # what a run takes where the policy does not say
    fuse: Fuse = Fuse.OFF
    noise: float = 0.0  # costs vary by this share, up and down
    learn: bool = False  # statistics are measured while running, not given
    run_overhead: float = 0.0  # seconds per run
    decision_cost: float = 0.0  # seconds charged per priority computed or compared
    unpriced: tuple[Kind, ...] = ()  # kinds of operators from SQL that [costs] leaves out: they cost nothing
    directory: Path = field(default_factory=Path)  # relative file names start here

    def network(self) -> Network:
        """The network of the queries that are there from the start."""
        queries = [query for query in self.queries if query.start <= 0.0]
        return Network.of(queries, self.streams, self.classes, self.tables, reads=self.reads)

    @property
    def reads(self) -> bool:
        """Whether reading sources is work of the network."""
        return self.source_cores == 0
