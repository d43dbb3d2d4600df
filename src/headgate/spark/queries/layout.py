"""Where a query is cut so that policies can schedule its operators or segments one by one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.model import Level, Query, QueryClass, Source, Stream
from headgate.plan.network import Network
from headgate.plan.segments import chains
from headgate.plan.sharing import Place
from headgate.spark.compile.fragment_rows import log_schema
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment, PlanCutter
from headgate.spark.compile.schemas import FROM
from headgate.spark.machine.fragments import keyed
from headgate.spark.machine.policy_changes import FINE
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import safe_name
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog


def cut_places(
    query: Query, streams: Mapping[str, Stream], level: Level | None
) -> tuple[set[Place], dict[Place, Place]]:
    """The places before whose results a query is cut, and for each place where the same sub-plan was met first.

    The engine cuts at operators, whatever its units are; an earlier version may have left queries cut at segments.

    >>> from headgate.model import Project, Select, Source
    >>> plan = Project(inputs=(Select(inputs=(Source("s"),)),))
    >>> query = Query(name="q", query_class="c", plan=plan, sql="")
    >>> streams = {"s": Stream(name="s")}
    >>> cut_places(query, streams, Level.OPERATOR)[0], cut_places(query, streams, Level.SEGMENT)[0]
    ({(0,)}, set())
    """
    network = Network.of([query], streams.values(), [QueryClass(query.query_class)], share=False)
    operators = network.places(query.name)
    first: dict[int, Place] = {}
    known = {place: first.setdefault(number, place) for place, number in sorted(operators.items(), key=_by_depth)}
    if level not in FINE:
        return set(), known
    home = {node.id: number for number, chain in enumerate(chains(network)) for node in chain}
    if level is Level.OPERATOR:
        home = {number: number for number in home}
    return {place for place in known if place and home[operators[place]] != home[operators[place[:-1]]]}, known


def _by_depth(entry: tuple[Place, int]) -> tuple[int, Place]:
    return len(entry[0]), entry[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """A query in pieces, each after those that feed it, and the logs of the rows that wait between them."""

    fragments: tuple[Fragment, ...]
    level: Level | None = None  # None: the query is whole
    epoch: int = 0  # tells one cut from another
    base: Mapping[Place, int] = field(default_factory=dict)  # where it stood in its streams when it was cut
    logs: Mapping[str, StreamLog] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return self.level is None

    @property
    def leaves(self) -> dict[Place, Source]:
        """All that its pieces read: streams, and what waits inside."""
        return {place: source for fragment in self.fragments for place, source in fragment.leaves.items()}

    def cut(self) -> dict[str, Any] | None:
        """What a commit must tell so that it can be opened again."""
        return None if self.level is None else {"level": self.level, "epoch": self.epoch, "base": keyed(self.base)}

    def close(self) -> None:
        for log in self.logs.values():
            log.close()

    def discard(self) -> None:
        """Remove the waiting rows: nobody reads them any more."""
        for log in self.logs.values():
            log.close()
            with suppress(OSError):  # the next start sweeps what is left
                disk.rmtree(log.folder)


def fragment_log_name(query: str, epoch: int, place: Place) -> str:
    """What the results of an operator are called while they wait.

    >>> fragment_log_name("fire", 1, (0, 1))
    'fire#1.0.1'
    """
    return f"{query}#{'.'.join(map(str, (epoch, *place)))}"


def fragment_log_folder(folder: Path, name: str) -> Path:
    """Where the rows of an inner stream wait."""
    query, _, rest = name.rpartition("#")
    return folder / safe_name(query) / rest


def sweep(folder: Path, epochs: Mapping[str, int]) -> None:
    """Remove what waits for queries that are no more, or are cut otherwise now."""
    keep = {safe_name(query): epoch for query, epoch in epochs.items()}
    for query in folder.iterdir():
        for log in query.iterdir():
            if log.name.split(".")[0] != str(keep.get(query.name)):
                disk.rmtree(log)


@dataclass(frozen=True, slots=True)
class QueryCutter:
    """Brings queries into pieces."""

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    folder: Path  # of all rows that wait

    def cut(self, query: Query, level: Level, epoch: int, base: Mapping[Place, int]) -> Layout:
        """A query cut as a level asks; its logs are opened, or made."""
        cuts, known = cut_places(query, self.streams, level)
        name = partial(fragment_log_name, query.name, epoch)
        fragments = PlanCutter(self.spark, self.streams, self.tables, cuts, known, name).fragments(query.plan)
        logs = {
            fragment.feeds.name: _open_fragment_log(
                fragment_log_folder(self.folder, fragment.feeds.name), fragment.feeds
            )
            for fragment in fragments
            if fragment.feeds is not None
        }
        return Layout(fragments, level, epoch, base, logs)


def _open_fragment_log(folder: Path, feeds: FragmentStream) -> StreamLog:
    """The log of rows that wait; one of format 1 does not say what they were made of, and goes on so."""
    schema = log_schema(feeds)
    if (folder / "stream.json").exists() and FROM not in (stored := log_files.stored(folder)[1]).names:
        schema = stored
    return StreamLog.open(folder, Stream(name=feeds.name), schema)
