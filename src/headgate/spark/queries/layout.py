"""Layouts: how a query is cut into fragments, so that policies can schedule its operators or segments one by one."""

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
from headgate.plan.places import Place, by_depth
from headgate.plan.segments import chains
from headgate.spark.compile.fragment_rows import log_schema
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment, PlanCutter
from headgate.spark.compile.schemas import FROM
from headgate.spark.machine.interfaces import keyed
from headgate.spark.machine.policy_changes import FINE
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import safe_name
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log.stream_log import StreamLog


def cut_places(
    query: Query, streams: Mapping[str, Stream], level: Level | None
) -> tuple[set[Place], dict[Place, Place]]:
    """The places whose results go to a fragment log, and for each place the first place with the same sub-plan.

    The engine cuts at operators, whatever its units are; data of an earlier version may have queries cut at segments.

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
    firsts = {
        place: first.setdefault(number, place)
        for place, number in sorted(operators.items(), key=lambda entry: by_depth(entry[0]))
    }
    if level not in FINE:
        return set(), firsts
    unit = {node.id: number for number, chain in enumerate(chains(network)) for node in chain}
    if level is Level.OPERATOR:
        unit = {number: number for number in unit}
    return {place for place in firsts if place and unit[operators[place]] != unit[operators[place[:-1]]]}, firsts


@dataclass(frozen=True, slots=True)
class Layout:
    """How a query is cut: its fragments, each after those that feed it, and the fragment logs between them."""

    fragments: tuple[Fragment, ...]
    level: Level | None = None  # None: the query is one fragment
    epoch: int = 0  # distinguishes this cut from others of the same query
    base: Mapping[Place, int] = field(default_factory=dict)  # its stream positions when it was cut
    logs: Mapping[str, StreamLog] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return self.level is None

    @property
    def leaves(self) -> dict[Place, Source]:
        """All streams and fragment logs that its fragments read."""
        return {place: source for fragment in self.fragments for place, source in fragment.leaves.items()}

    def cut(self) -> dict[str, Any] | None:
        """What a commit must store so that the fragments can be opened again."""
        return None if self.level is None else {"level": self.level, "epoch": self.epoch, "base": keyed(self.base)}

    def close(self) -> None:
        for log in self.logs.values():
            log.close()

    def discard(self) -> None:
        """Close and delete the fragment logs."""
        for log in self.logs.values():
            log.close()
            with suppress(OSError):  # the next start deletes what is left
                disk.rmtree(log.folder)


def fragment_log_name(query: str, epoch: int, place: Place) -> str:
    """The name of the log for the results of the operator at a place.

    >>> fragment_log_name("fire", 1, (0, 1))
    'fire#1.0.1'
    """
    return f"{query}#{'.'.join(map(str, (epoch, *place)))}"


def fragment_log_folder(folder: Path, name: str) -> Path:
    """The folder of a fragment log."""
    query, _, rest = name.rpartition("#")
    return folder / safe_name(query) / rest


def sweep(folder: Path, epochs: Mapping[str, int]) -> None:
    """Delete fragment logs in a folder, except those of the current epochs of queries."""
    keep = {safe_name(query): epoch for query, epoch in epochs.items()}
    for query in folder.iterdir():
        for log in query.iterdir():
            if log.name.split(".")[0] != str(keep.get(query.name)):
                disk.rmtree(log)


@dataclass(frozen=True, slots=True)
class QueryCutter:
    """Cuts queries into fragments."""

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    folder: Path  # of all fragment logs

    def cut(self, query: Query, level: Level, epoch: int, base: Mapping[Place, int]) -> Layout:
        """Cut a query at a level; its fragment logs are opened or created."""
        cuts, firsts = cut_places(query, self.streams, level)
        name = partial(fragment_log_name, query.name, epoch)
        fragments = PlanCutter(self.spark, self.streams, self.tables, cuts, firsts, name).fragments(query.plan)
        logs = {
            fragment.feeds.name: _open_fragment_log(
                fragment_log_folder(self.folder, fragment.feeds.name), fragment.feeds
            )
            for fragment in fragments
            if fragment.feeds is not None
        }
        return Layout(fragments, level, epoch, base, logs)


def _open_fragment_log(folder: Path, feeds: FragmentStream) -> StreamLog:
    """Open a fragment log; one of format 1 lacks the column `FROM`, and keeps its schema."""
    schema = log_schema(feeds)
    if (folder / "stream.json").exists() and FROM not in (stored := log_files.stored(folder)[1]).names:
        schema = stored
    return StreamLog.open(folder, Stream(name=feeds.name), schema)
