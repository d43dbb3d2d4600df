"""Lays out a network and its units as arrays of records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from headgate.core.units import UnitState
from headgate.model import Aggregate, Except, Join, QueueId, Train, Union, Unit
from headgate.plan.network import Network, Node
from headgate.sim.compiled.operators import (
    AGGREGATE,
    ALWAYS,
    DIFFERENCE,
    DRAWN,
    FILTER,
    JOIN,
    MERGE,
    PATTERN,
    SINGLE,
)
from headgate.sim.compiled.tables import OPERATOR, QUEUE, STREAM, UNIT, Array
from headgate.sim.effects import Drawing, EffectMaker, lasting_name, works
from headgate.sim.randomness import generator
from headgate.stats import Measured, Stats
from headgate.stats.measured import selectivity_of
from headgate.workload import Workload

_FIRST_WINDOW = -1 << 62
MOST_FILTERS = 255  # of a chain: as many as a byte can count


class Links:
    """Lists of numbers, one behind the other."""

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def add(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Where the list begins, and how long it is."""
        at = len(self._numbers)
        self._numbers.extend(numbers)
        return at, len(self._numbers) - at

    def cut(self, length: int) -> None:
        """Forget the lists that were added last."""
        del self._numbers[length:]

    def __len__(self) -> int:
        return len(self._numbers)

    def array(self) -> Array:
        return np.array(self._numbers or [0], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Row:
    """Outcomes of the tuples of a stream: of one filter, or how many filters of a chain a tuple passes."""

    stream: str
    drawings: tuple[Drawing | None, ...]  # None: every tuple passes
    table: Array = field(repr=False)  # of the record that reads it
    place: int

    @property
    def is_chain(self) -> bool:
        return bool(self.table.dtype == UNIT)


@dataclass(slots=True)
class Layout:
    """The arrays of a network, and what is drawn for it."""

    network: Network
    states: Sequence[UnitState]  # of the units, in the order of their numbers
    links: Links
    streams: Array
    queues: Array
    operators: Array
    units: Array
    costs: Array
    overheads: Array
    rows: list[Row]
    windows: int
    classes: list[str]  # by number


def lay_out(workload: Workload, network: Network, states: Sequence[UnitState], measured: Measured) -> Layout:
    """The arrays of a network that is cut into these units."""
    return _Builder(workload, network, states, measured).layout()


class _Builder:
    def __init__(self, workload: Workload, network: Network, states: Sequence[UnitState], measured: Measured) -> None:
        self._workload = workload
        self._network = network
        self._states = states
        self._measured = measured
        self._maker = EffectMaker(network, workload)
        self._links = Links()
        self._stream = {name: place for place, name in enumerate(network.streams)}
        self._queue = {number: place for place, number in enumerate(network.edges)}
        self._operator = {number: place for place, number in enumerate(network.nodes)}
        self._query = {query.name: place for place, query in enumerate(workload.queries)}
        self._unit = {state.id: place for place, state in enumerate(states)}
        self._windows = 0
        self._rows: list[Row] = []  # of chains
        self._of_operators: dict[int, Row] = {}  # of other filters, by their place
        self._costs: list[float] = []
        self._overheads: list[float] = []

    def layout(self) -> Layout:
        operators, queues, streams = self._operators(), self._queues(), self._streams()
        units = self._units(operators)
        return Layout(
            self._network,
            self._states,
            self._links,
            streams,
            queues,
            operators,
            units,
            np.array(self._costs or [0.0]),
            np.array(self._overheads or [0.0]),
            [*self._rows, *self._of_operators.values()],
            self._windows,
            self._classes,
        )

    # -- streams and queues --------------------------------------------------------------------------------------

    def _streams(self) -> Array:
        streams = np.zeros(len(self._stream), STREAM)
        for name, place in self._stream.items():
            readers = [self._queue[edge.id] for edge in self._network.edges.values() if edge.stream == name]
            streams[place]["queues_at"], streams[place]["queues_count"] = self._links.add(readers)
            streams[place]["tuple_bytes"] = self._network.streams[name].bytes
        return streams

    def _queues(self) -> Array:
        queues = np.zeros(len(self._queue), QUEUE)
        for field_ in ("first", "last", "waiting", "waiting_last", "leaving", "leaving_last", "leaving_next"):
            queues[field_] = -1
        homes = {queue: place for place, state in enumerate(self._states) for queue in state.unit.queues}
        for number, place in self._queue.items():
            edge, queue = self._network.edges[number], queues[place]
            queue["stream"] = -1 if edge.stream is None else self._stream[edge.stream]
            if edge.producer is None:
                queue["tuple_bytes"] = self._network.streams[str(edge.stream)].bytes
            else:
                queue["tuple_bytes"] = self._measured.operators[edge.producer].size
            queue["operator"], queue["port"] = self._operator[edge.operator], edge.port
            queue["home"] = homes[number]
            queue["states_at"], queue["states_count"] = self._links.add([homes[number]])
            stream = self._maker.stream_of_offsets(number)
            queue["offsets_of"] = -1 if stream is None else self._stream[stream]
        return queues

    # -- operators -----------------------------------------------------------------------------------------------

    def _operators(self) -> Array:
        operators = np.zeros(len(self._operator), OPERATOR)
        for place, node in enumerate(self._network.nodes.values()):
            record, given = operators[place], node.operator.given
            record["cost"], record["overhead"] = given.cost, given.overhead
            record["queues_at"], record["queues_count"] = self._places(node.queues)
            record["consumers_at"], record["consumers_count"] = self._places(node.consumers)
            emits = [self._query[name] for name in node.emits]
            record["emits_at"], record["emits_count"] = self._links.add(emits)
            if self._workload.noise:
                purpose = ("noise", lasting_name(self._network, node))
                record["noise"] = self._workload.noise
                record["noise_key"] = generator(self._workload.seed, *purpose).integers(2**62)
            self._behave(operators, place, node)
        return operators

    def _places(self, queues: Iterable[QueueId]) -> tuple[int, int]:
        return self._links.add(self._queue[queue] for queue in queues)

    def _behave(self, operators: Array, place: int, node: Node) -> None:
        operator, record = node.operator, operators[place]
        if isinstance(operator, Join):
            self._join(record, node, operator)
        elif isinstance(operator, Aggregate):
            self._aggregate(record, node, operator)
        elif isinstance(operator, Union):
            record["kind"] = MERGE
        else:
            record["kind"] = DIFFERENCE if isinstance(operator, Except) else FILTER
            self._filter(operators, place, node)

    def _filter(self, operators: Array, place: int, node: Node) -> None:
        record, passes = operators[place], node.operator.given.passes
        record["selectivity"] = 1.0
        if passes:
            record["known"] = PATTERN
            record["pattern_at"], record["pattern_count"] = self._links.add(int(value) for value in passes)
            return
        drawing = self._maker.drawing(node)
        if drawing is None:
            record["known"] = ALWAYS
            return
        record["selectivity"] = drawing.timeline[0][1]
        if drawing.stream is None:
            record["known"] = SINGLE
            record["key"] = generator(self._workload.seed, *drawing.purpose).integers(2**62)
        else:
            record["known"] = DRAWN
            self._of_operators[place] = Row(drawing.stream, (drawing,), operators, place)

    def _aggregate(self, record: Array, node: Node, operator: Aggregate) -> None:
        window, whole = operator.window, round(operator.window.panes)
        exact = abs(window.panes - whole) < 1e-9
        record["kind"], record["key"] = AGGREGATE, self._maker.key(node)
        record["slide"], record["window_size"], record["panes"] = window.slide, window.size, whole if exact else 0
        record["from_end"] = self._workload.windows == "end"
        record["grouped"] = operator.given.selectivity is not None
        record["selectivity"] = operator.given.selectivity or 0.0
        record["windows_at"], record["windows_count"] = self._windows, whole + 3
        record["upcoming"] = _FIRST_WINDOW
        self._windows += whole + 3

    def _join(self, record: Array, node: Node, operator: Join) -> None:
        given = selectivity_of(operator)
        record["kind"], record["key"] = JOIN, self._maker.key(node)
        record["selectivity"] = 1.0 if given is None else given
        record["lower"], record["upper"] = operator.lower, operator.upper
        record["left_work"], record["right_work"] = works(operator)
        record["left_kept"] = record["right_kept"] = 64
        for side, queue in zip(("left", "right"), node.queues, strict=True):
            record[f"{side}_upstream"], record[f"{side}_upstream_count"] = self._places(self._upstream(queue))

    def _upstream(self, queue: QueueId) -> list[QueueId]:
        producer = self._network.edges[queue].producer
        feeds = () if producer is None else self._network.nodes[producer].queues
        return [queue, *chain.from_iterable(self._upstream(feed) for feed in feeds)]

    # -- units ---------------------------------------------------------------------------------------------------

    def _units(self, operators: Array) -> Array:
        units = np.zeros(len(self._states), UNIT)
        self._classes = sorted({state.unit.payer for state in self._states})
        for place, state in enumerate(self._states):
            unit, record = state.unit, units[place]
            entries = [queue for entry in unit.entries for queue in entry]
            record["entry_at"], record["entry_count"] = self._places(entries)
            record["inner_at"], record["inner_count"] = self._places(unit.queues[len(entries) :])
            record["queue"] = self._queue[entries[0]] if len(entries) == 1 else -1
            record["calls_at"], record["calls_count"] = self._links.add(self._operator[call] for call in unit.calls)
            blocks = [self._unit[other.id] for other in state.blocks]
            record["blocks_at"], record["blocks_count"] = self._links.add(blocks)
            record["payer"], record["depth"] = self._classes.index(unit.payer), unit.depth
            record["slot"] = -1
            self._chain(units, place, unit, operators)
            self._single(record, unit, operators)
        return units

    def _single(self, record: Array, unit: Unit, operators: Array) -> None:
        """A unit of one filter with one input."""
        operator = operators[self._operator[unit.calls[0]]]
        if record["chain"] or len(unit.calls) > 1 or len(unit.queues) > 1 or operator["kind"] != FILTER:
            return
        copies, readers = math.ceil(operator["selectivity"]), max(operator["consumers_count"], operator["emits_count"])
        record["single"], record["most"] = 1, 1 + max(1, copies) * readers

    def _chain(self, units: Array, place: int, unit: Unit, operators: Array) -> None:
        """A unit whose filters can be looked up together needs no rows of its operators."""
        record = units[place]
        nodes = [self._network.nodes[call] for call in unit.calls]
        stream = self._network.edges[unit.queues[0]].stream
        if stream is None or len(nodes) > MOST_FILTERS or not self._plain(nodes, operators):
            return
        own = [self._of_operators.pop(self._operator[call], None) for call in unit.calls]
        self._rows.append(Row(stream, tuple(None if row is None else row.drawings[0] for row in own), units, place))
        record["chain"] = 1 if self._workload.noise else 2
        record["query"] = self._query[unit.queries[0]]
        record["costs_at"] = len(self._costs)
        overheads = [node.operator.given.overhead for node in nodes]
        self._costs += [node.operator.given.overhead + node.operator.given.cost for node in nodes]
        self._overheads += [sum(overheads[: called + 1]) for called in range(len(nodes))]

    def _plain(self, nodes: Sequence[Node], operators: Array) -> bool:
        """Whether operators are filters, one after another, whose results leave only at the end, one for a tuple."""
        following = [[node.id] for node in nodes[1:]] + [[]]
        return all(
            operators[self._operator[node.id]]["kind"] == FILTER
            and operators[self._operator[node.id]]["known"] in (ALWAYS, DRAWN)
            and operators[self._operator[node.id]]["selectivity"] <= 1.0
            and len(node.queues) == 1
            and len(node.emits) == (not after)
            and [self._network.edges[queue].operator for queue in node.consumers] == after
            for node, after in zip(nodes, following, strict=True)
        )


def set_train(record: Array, train: Train) -> None:
    """How many tuples a run of a unit takes."""
    record["at_most"], record["fraction"], record["threshold"] = train.at_most or 0, train.fraction, train.threshold


def set_models(units: Array, states: Sequence[UnitState], stats: Stats) -> None:
    """What runs of units cost by the cost model, for trains that must fit a time."""
    for record, state in zip(units, states, strict=True):
        model = stats.model(state.unit)
        record["fixed"], record["per_tuple"] = model.fixed, model.per_tuple
