"""A query's plan cut into pieces that run by themselves, with rows waiting between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.model import Aggregate, Except, Operator, Source, Stream
from headgate.plan.sharing import Place
from headgate.spark.compile.event_times import asked, window_of
from headgate.spark.compile.fragment_rows import OutputColumns, scope
from headgate.spark.compile.fragment_stream import FragmentStream, Ref
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.read_sets import node_at, sources


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a plan: the operators from `place` down to streams or to the results of other pieces."""

    place: Place  # of its last operator in the query's plan
    prepared: PreparedQuery
    feeds: FragmentStream | None = None  # where its results wait; None: they are the query's
    leaves: dict[Place, Source] = field(init=False)  # what it reads, by the place in the query's plan
    held: tuple[Place, ...] = field(init=False)  # leaves whose every tuple waits for a window to close

    def __post_init__(self) -> None:
        leaves = {(*self.place, *local): source for local, source in sources(self.plan)}
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "held", tuple(place for place in leaves if self._closes_above(place)))

    @property
    def plan(self) -> Operator:
        return self.prepared.plan

    @property
    def feeds_name(self) -> str | None:
        """Under which name its results wait; None: they are the query's."""
        return None if self.feeds is None else self.feeds.name

    def local(self, place: Place) -> Place:
        """A place of the query's plan as the piece knows it."""
        return place[len(self.place) :]

    def _closes_above(self, place: Place) -> bool:
        local = self.local(place)
        above = (node_at(self.plan, local[:depth]) for depth in range(len(local)))
        return any(isinstance(node, Aggregate | Except) for node in above)


@dataclass(frozen=True, slots=True)
class PlanCutter:
    """Cuts a plan before the operators at some places.

    `known` says for each place under which place the same sub-plan was met first: its results are made once. `name`
    tells what the results of a place are called as a stream.
    """

    spark: SparkSession
    streams: Mapping[str, Stream]
    tables: Mapping[str, DataFrame]
    cuts: Collection[Place]
    known: Mapping[Place, Place]
    name: Callable[[Place], str]

    def fragments(self, plan: Operator) -> tuple[Fragment, ...]:
        """The pieces, each after those that feed it; the last gives the query's results."""
        inner: dict[str, FragmentStream] = {}
        made: dict[Place, Fragment] = {}
        wanted = self._wanted(plan)
        for place, node in self._in_order(plan):
            if place and (place not in self.cuts or self.known[place] != place):
                continue
            part = self._part(node, place)
            streams = {**self.streams, **inner}
            columns = {name: tuple(frame.columns) for name, frame in self.tables.items()}
            refs = scope(part, streams, columns)
            times = tuple(sorted(wanted.get(place, ())))
            output_columns = OutputColumns.inner(refs, times) if place else OutputColumns.result(refs)
            checked = prepare_query(self.spark, part, streams, self.tables, output_columns)
            made[place] = Fragment(place, checked, self._inner(place, node, checked, times) if place else None)
            if (feeds := made[place].feeds) is not None:
                inner[feeds.name] = feeds
        return tuple(made.values())

    def _inner(self, place: Place, node: Operator, checked: PreparedQuery, times: tuple[Ref, ...]) -> FragmentStream:
        assert checked.output_columns is not None
        refs = checked.output_columns.refs
        windows = {ref: found for ref in times if (found := window_of(node, ref, self.streams)) is not None}
        return FragmentStream(
            name=self.name(place),
            below=tuple(leaf for leaf, _ in sources(node)),
            schema=tuple((ref[-1], "") for ref in refs),
            refs=refs,
            types=pa.schema([one.with_nullable(True) for one in checked.schema]),
            times=times,
            windows=windows,
        )

    def _wanted(self, plan: Operator) -> dict[Place, set[Ref]]:
        """The event times that are asked of each operator, wherever its results are used."""
        found: dict[Place, set[Ref]] = {}

        def visit(node: Operator, place: Place, refs: set[Ref]) -> None:
            found.setdefault(self.known[place], set()).update(refs)
            for port, (child, below) in enumerate(zip(node.inputs, asked(node, refs, self.streams), strict=True)):
                if isinstance(child, Operator):
                    visit(child, (*place, port), below)

        visit(plan, (), set())
        return found

    def _part(self, node: Operator, place: Place) -> Operator:
        """The operators from a place down to the cuts."""

        def below(child: Operator | Source, at: Place) -> Operator | Source:
            if isinstance(child, Source):
                return child
            return Source(self.name(self.known[at])) if at in self.cuts else self._part(child, at)

        return replace(node, inputs=tuple(below(child, (*place, port)) for port, child in enumerate(node.inputs)))

    def _in_order(self, plan: Operator) -> Iterator[tuple[Place, Operator]]:
        """All operators, each after those whose results it reads: also where these are made at another place."""
        done: set[Place] = set()

        def visit(place: Place) -> Iterator[tuple[Place, Operator]]:
            node = node_at(plan, place)
            if place in done or not isinstance(node, Operator):
                return
            done.add(place)
            for port in range(len(node.inputs)):
                at = (*place, port)
                yield from visit(self.known[at] if at in self.cuts else at)
            yield place, node

        return visit(())
