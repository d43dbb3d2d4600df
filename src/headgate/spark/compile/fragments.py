"""Cuts a query's plan into fragments that run on their own; rows wait between them in fragment logs.

Example: a plan `project(aggregate(select(STREAM)))` cut above the selection has two fragments. The first is the
selection, whose results wait in a fragment log; the second is `project(aggregate(SOURCE))` with that log as its source.
A sub-plan that occurs at several places is one fragment, made at the place where it was met first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.model import Aggregate, Except, Operator, Source, Stream, TableJoin, walk
from headgate.plan.places import Place
from headgate.spark.compile.event_time_columns import required_times, window_of
from headgate.spark.compile.fragment_rows import OutputColumns, scope
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.read_sets import node_at, sources


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a plan: the operators from `place` down to streams or to the results of other fragments."""

    place: Place  # of its last operator in the query's plan
    prepared: PreparedQuery
    feeds: FragmentStream | None = None  # the stream that its results go to; None: they are the query's results
    leaves: dict[Place, Source] = field(init=False)  # what it reads, by place in the query's plan
    held: tuple[Place, ...] = field(init=False)  # leaves below a window operator: tuples wait for a window to close

    def __post_init__(self) -> None:
        leaves = {(*self.place, *local): source for local, source in sources(self.plan)}
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "held", tuple(place for place in leaves if self._closes_above(place)))

    @property
    def plan(self) -> Operator:
        return self.prepared.plan

    @property
    def feeds_name(self) -> str | None:
        """The name of the stream that its results go to; None: they are the query's results."""
        return None if self.feeds is None else self.feeds.name

    def local(self, place: Place) -> Place:
        """A place of the query's plan, seen from the fragment's own root."""
        return place[len(self.place) :]

    def _closes_above(self, place: Place) -> bool:
        local = self.local(place)
        above = (node_at(self.plan, local[:depth]) for depth in range(len(local)))
        return any(isinstance(node, Aggregate | Except) for node in above)


@dataclass(frozen=True, slots=True)
class PlanCutter:
    """Cuts a plan above the operators at the places `cuts`.

    `first_places` gives for each place the one where the same sub-plan was met first: its results are made once. `name`
    gives the name of the stream that holds the results of a place.
    """

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    cuts: Collection[Place]
    first_places: Mapping[Place, Place]
    name: Callable[[Place], str]

    def fragments(self, plan: Operator) -> tuple[Fragment, ...]:
        """The fragments, each after those that feed it; the last gives the query's results."""
        inner: dict[str, FragmentStream] = {}
        fragments: dict[Place, Fragment] = {}
        times_of = self._required_times(plan)
        for place, node in self._in_order(plan):
            if place and (place not in self.cuts or self.first_places[place] != place):
                continue
            operators = self._down_to_cuts(node, place)
            streams = {**self.streams, **inner}
            tables = {node.table for node in walk(operators) if isinstance(node, TableJoin)}
            columns = {name: tuple(self.tables[name].columns) for name in tables}  # others may be lost
            refs = scope(operators, streams, columns)
            times = tuple(sorted(times_of.get(place, ())))
            output_columns = OutputColumns.inner(refs, times) if place else OutputColumns.result(refs)
            prepared = prepare_query(self.spark, operators, streams, self.tables, output_columns)
            feeds = self._feeds(place, node, prepared, times) if place else None
            fragments[place] = Fragment(place, prepared, feeds)
            if feeds is not None:
                inner[feeds.name] = feeds
        return tuple(fragments.values())

    def _feeds(self, place: Place, node: Operator, prepared: PreparedQuery, times: tuple[Ref, ...]) -> FragmentStream:
        assert prepared.output_columns is not None
        refs = prepared.output_columns.refs
        windows = {ref: window for ref in times if (window := window_of(node, ref, self.streams)) is not None}
        return FragmentStream(
            name=self.name(place),
            below=tuple(leaf for leaf, _ in sources(node)),
            schema=tuple((ref[-1], "") for ref in refs),
            refs=refs,
            types=pa.schema([column.with_nullable(True) for column in prepared.schema]),
            times=times,
            windows=windows,
        )

    def _required_times(self, plan: Operator) -> dict[Place, set[Ref]]:
        """The event times that each operator must give, wherever its results are used."""
        times_of: dict[Place, set[Ref]] = {}

        def visit(node: Operator, place: Place, refs: set[Ref]) -> None:
            times_of.setdefault(self.first_places[place], set()).update(refs)
            for port, (child, below) in enumerate(
                zip(node.inputs, required_times(node, refs, self.streams), strict=True)
            ):
                if isinstance(child, Operator):
                    visit(child, (*place, port), below)

        visit(plan, (), set())
        return times_of

    def _down_to_cuts(self, node: Operator, place: Place) -> Operator:
        """The operators from a place down to the cuts, with streams in place of what is cut off."""

        def below(child: Operator | Source, at: Place) -> Operator | Source:
            if isinstance(child, Source):
                return child
            return Source(self.name(self.first_places[at])) if at in self.cuts else self._down_to_cuts(child, at)

        return replace(node, inputs=tuple(below(child, (*place, port)) for port, child in enumerate(node.inputs)))

    def _in_order(self, plan: Operator) -> Iterator[tuple[Place, Operator]]:
        """All operators, each after those whose results it reads, even if these are made at another place."""
        done: set[Place] = set()

        def visit(place: Place) -> Iterator[tuple[Place, Operator]]:
            node = node_at(plan, place)
            if place in done or not isinstance(node, Operator):
                return
            done.add(place)
            for port in range(len(node.inputs)):
                at = (*place, port)
                yield from visit(self.first_places[at] if at in self.cuts else at)
            yield place, node

        return visit(())
