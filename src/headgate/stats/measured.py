"""Measured statistics: cost, overhead, selectivity and size per operator; rates; the overhead of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.model import Join, Operator, OperatorId, OperatorOutcome, Outcome, Run, Source, Unit
from headgate.plan.network import Network
from headgate.stats.average import ExponentialAverage, ExponentialLine
from headgate.stats.cost import CostModel
from headgate.stats.run_costs import RunCosts

WARM = 30  # runs until a cost on a machine that warms up can be relied on: the first has a weight of 2 % then


@dataclass(slots=True)
class OperatorStatistics:
    """One operator's numbers: as given, until something is measured."""

    cost: float  # seconds per tuple
    overhead: float  # seconds per call
    selectivity: float | None  # None: what its kind does by itself
    size: int  # bytes of a tuple after it
    per_input: bool = False  # a join's selectivity is given per pair, but measured per tuple
    runs: int = 0  # how often it was measured


@dataclass(slots=True)
class Measured:
    """The measured numbers of a network. Policies read them through `Stats`.

    `train` is the average number of tuples a run takes, over which overheads are spread. With `fits_overhead` no
    cost is given: those of runs are fitted (`RunCosts`), and from them follow the run overhead and operators' costs.
    """

    operators: dict[OperatorId, OperatorStatistics]
    rates: dict[str, float] = field(default_factory=dict)  # tuples per second of each stream, where known
    run_overhead: float = 0.0
    train: float = 1.0
    fits_overhead: bool = False
    run_costs: RunCosts = field(
        default_factory=RunCosts, compare=False
    )  # of units, by their operators: numbers of units change
    _costs: dict[OperatorId, ExponentialLine] = field(default_factory=dict)
    _shares: dict[OperatorId, tuple[ExponentialAverage, ExponentialAverage]] = field(default_factory=dict)
    _selectivities: dict[OperatorId, ExponentialAverage] = field(default_factory=dict)
    _trains: ExponentialAverage = field(default_factory=ExponentialAverage)

    @classmethod
    def of(
        cls,
        network: Network,
        rates: Mapping[str, float] | None = None,
        run_overhead: float = 0.0,
        train: float = 1.0,
        *,
        fits_overhead: bool = False,
    ) -> Measured:
        """Start from what the plan gives.

        >>> from headgate.model import Given, Query, QueryClass, Select, Stream
        >>> plan = Select(inputs=(Source("s"),), given=Given(cost=0.002, selectivity=0.5))
        >>> queries = [Query(name="q", query_class="c", plan=plan)]
        >>> Measured.of(Network.of(queries, [Stream(name="s", bytes=8)], [QueryClass("c")])).operators[0]
        OperatorStatistics(cost=0.002, overhead=0.0, selectivity=0.5, size=8, per_input=False, runs=0)
        """
        measured = cls({}, dict(rates or {}), run_overhead, train, fits_overhead)
        measured.follow(network)
        return measured

    def follow(self, network: Network) -> None:
        """Take up operators that are new in the network and drop those that are gone."""
        operators: dict[OperatorId, OperatorStatistics] = {}
        for node in network.nodes.values():
            operators[node.id] = self.operators.get(node.id) or _given(network, node.operator)
        self.operators = operators
        self._costs = {number: line for number, line in self._costs.items() if number in operators}
        self._shares = {number: pair for number, pair in self._shares.items() if number in operators}
        self._selectivities = {number: mean for number, mean in self._selectivities.items() if number in operators}
        keys = [key for key in self.run_costs.units if isinstance(key, tuple) and operators.keys() >= set(key)]
        self.run_costs.forget(keys)  # those of units that are gone

    def reliable(self, operator: OperatorId) -> bool:
        """Whether an operator's cost is given, or measured long enough: first runs take far longer."""
        return not self.fits_overhead or self.operators[operator].runs >= WARM

    def model(self, unit: Unit, others: float | None = None) -> CostModel | None:
        """What a run of a unit costs, fitted to its runs; None where costs are given, and while it has not run."""
        return self.run_costs.model(unit.calls, others) if self.fits_overhead else None

    def fixed(self, run: Run) -> float:
        """Seconds of a run that its tuples do not explain."""
        model = self.model(run.units[0], 0.0)
        return self.run_overhead if model is None else model.fixed

    def observe(self, outcome: Outcome, others: float = 0.0, predicted: float | None = None) -> None:
        """Learn from a run that was beside so many others, and was predicted to take so many seconds."""
        run, taken = outcome.run, outcome.run.tuples
        if taken:
            self.train = self._trains.add(taken)
            if outcome.work is not None and outcome.error is None and len(run.units) == 1:
                unit = run.units[0]
                work, per_query = outcome.work, taken / len(unit.entries)
                self.run_costs.observe(unit.calls, per_query, work, outcome.seconds, others, predicted)
                self.run_overhead = self.run_costs.job_overhead
        fixed = self.fixed(run) if self.fits_overhead else 0.0
        members = len(outcome.operators)
        for work_of_operator in outcome.operators:
            if work_of_operator.operator in self.operators and work_of_operator.tuples_in:
                self._observe(work_of_operator, fixed / members, max(0.0, fixed - self.run_overhead) / members)

    def _observe(self, work: OperatorOutcome, fixed: float, overhead: float) -> None:
        """Learn from what an operator did; `fixed` and `overhead` are its shares of the run's."""
        operator = self.operators[work.operator]
        if work.seconds is not None and self.fits_overhead:
            if (share := self._shares.get(work.operator)) is None:
                share = self._shares[work.operator] = ExponentialAverage(), ExponentialAverage()
            spent, taken = share
            own = work.seconds - fixed
            operator.cost = spent.add(own if own > 0.0 else 0.0) / (taken.add(work.tuples_in) or 1.0)
            operator.overhead = overhead
        elif work.seconds is not None:
            if (line := self._costs.get(work.operator)) is None:
                line = self._costs[work.operator] = ExponentialLine(operator.overhead, operator.cost)
            line.add(work.tuples_in, work.seconds)
            operator.cost, operator.overhead = line.slope, line.fixed
        if (average := self._selectivities.get(work.operator)) is None:
            average = self._selectivities[work.operator] = ExponentialAverage()
        operator.selectivity = average.add(work.tuples_out / work.tuples_in)
        operator.per_input = True
        operator.runs += 1


def selectivity_of(operator: Operator) -> float | None:
    """The selectivity that is given, by itself or by a pattern."""
    if operator.given.selectivity is None and operator.given.passes:
        return sum(operator.given.passes) / len(operator.given.passes)
    return operator.given.selectivity


def _given(network: Network, operator: Operator) -> OperatorStatistics:
    given = operator.given
    return OperatorStatistics(given.cost, given.overhead, selectivity_of(operator), _size(network, operator))


def _size(network: Network, node: Operator | Source) -> int:
    """Bytes of a tuple after a node: as said, else as before it; a join's tuple holds both."""
    if isinstance(node, Source):
        return network.streams[node.stream].bytes
    if node.given.bytes is not None:
        return node.given.bytes
    sizes = [_size(network, child) for child in node.inputs]
    return sum(sizes) if isinstance(node, Join) else max(sizes)
