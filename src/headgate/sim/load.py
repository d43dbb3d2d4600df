"""The offered load of a workload, and its costs or rates scaled so that it has the load that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headgate.model import Given, HeadgateError, Level, Operator, Source
from headgate.plan.units import units
from headgate.sim.faster import faster, rate_of
from headgate.sim.feeds import rates
from headgate.stats import Measured, Stats
from headgate.workload import LoadBy, LoadOf, Workload

_ENOUGH = 1e-9
_HALVINGS = 60


def statistics(workload: Workload) -> Measured:
    """The statistics that a workload file gives: costs, selectivities, rates."""
    return Measured.of(workload.network(), rates(workload), workload.run_overhead, float(workload.train.at_most or 1))


def offered_load(workload: Workload, of: LoadOf = LoadOf.ALL) -> float:
    """The share of the cores' time that the arrivals ask for: 1 keeps all of them busy all the time.

    All of it, overheads spread over the average train; or only what tuples cost: the capacity of Carney 2005, 3.4.1.
    """
    if of is LoadOf.COSTS:
        bare = with_given(workload, lambda given: replace(given, overhead=0.0))
        return offered_load(replace(bare, run_overhead=0.0))
    network = workload.network()
    stats = Stats(network, statistics(workload))
    work = sum(stats.arrival_rate(unit) * stats.cost(unit) for unit in units(network, Level.QUERY))
    return work / workload.cores


def scaled(workload: Workload) -> Workload:
    """The workload with all costs multiplied so that the offered load is the one it asks for; or with all rates.

    Reading a stream is among the costs where it takes time of the same cores.
    """
    if workload.load is None:
        return workload
    offered = offered_load(workload, workload.load_of)
    if offered <= 0:
        raise HeadgateError(
            f"workload '{workload.name}' asks for load {workload.load:g} but its operators cost nothing",
            hint="give the operators costs, those from SQL in [costs], and the streams arrivals with a rate",
        )
    factor = workload.load / offered
    change = _by_rates if workload.load_by is LoadBy.RATES else _by_costs
    return replace(change(workload, factor), load=None)


def _by_costs(workload: Workload, factor: float) -> Workload:
    changed = with_given(
        workload, lambda given: replace(given, cost=given.cost * factor, overhead=given.overhead * factor)
    )
    streams = workload.streams
    if workload.reads:
        streams = tuple(
            replace(stream, source_cost=stream.source_cost * factor, source_overhead=stream.source_overhead * factor)
            for stream in streams
        )
    return replace(changed, streams=streams, run_overhead=workload.run_overhead * factor)


def _by_rates(workload: Workload, factor: float) -> Workload:
    """Load grows with rates; where streams are joined it grows faster, and the factor is searched for."""
    for stream in workload.streams:
        rate_of(stream, workload, "load_by = rates")

    def at(factor: float) -> Workload:
        return faster(workload, dict.fromkeys((stream.name for stream in workload.streams), factor))

    asked = workload.load or 0.0
    if abs(offered_load(at(factor), workload.load_of) - asked) <= _ENOUGH * asked:
        return at(factor)
    low, high = sorted((1.0, factor))
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if offered_load(at(middle), workload.load_of) > asked else (middle, high)
    return at(high)


def with_given(workload: Workload, change: Callable[[Given], Given]) -> Workload:
    """The workload with the costs of every operator changed."""
    queries = tuple(replace(query, plan=_changed(query.plan, change)) for query in workload.queries)
    return replace(workload, queries=queries)


def _changed(plan: Operator, change: Callable[[Given], Given]) -> Operator:
    inputs = tuple(child if isinstance(child, Source) else _changed(child, change) for child in plan.inputs)
    return replace(plan, inputs=inputs, given=change(plan.given))
