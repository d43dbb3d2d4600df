"""The offered load of a workload, and its costs scaled so that it has the load that is asked for."""

from __future__ import annotations

from dataclasses import replace

from headgate.model import HeadgateError, Level, Operator, Source
from headgate.plan.units import units
from headgate.sim.feeds import rates
from headgate.stats import Measured, Stats
from headgate.workload import Workload


def statistics(workload: Workload) -> Measured:
    """The statistics that a workload file gives: costs, selectivities, rates."""
    return Measured.of(workload.network(), rates(workload), workload.run_overhead, float(workload.train.at_most or 1))


def offered_load(workload: Workload) -> float:
    """The share of the cores' time that the arrivals ask for: 1 keeps all of them busy all the time."""
    network = workload.network()
    stats = Stats(network, statistics(workload))
    work = sum(stats.arrival_rate(unit) * stats.cost(unit) for unit in units(network, Level.QUERY))
    return work / workload.cores


def scaled(workload: Workload) -> Workload:
    """The workload with all costs multiplied so that the offered load is the one it asks for.

    Reading a stream is among them where it takes time of the same cores.
    """
    if workload.load is None:
        return workload
    offered = offered_load(workload)
    if offered <= 0:
        raise HeadgateError(
            f"workload '{workload.name}' asks for load {workload.load:g} but its operators cost nothing",
            hint="give the operators costs, those from SQL in [costs], and the streams arrivals with a rate",
        )
    factor = workload.load / offered
    queries = tuple(replace(query, plan=_scaled(query.plan, factor)) for query in workload.queries)
    streams = workload.streams
    if workload.reads:
        streams = tuple(replace(stream, source_cost=stream.source_cost * factor) for stream in streams)
    overhead = workload.run_overhead * factor
    return replace(workload, queries=queries, streams=streams, load=None, run_overhead=overhead)


def _scaled(plan: Operator, factor: float) -> Operator:
    inputs = tuple(child if isinstance(child, Source) else _scaled(child, factor) for child in plan.inputs)
    given = replace(plan.given, cost=plan.given.cost * factor, overhead=plan.given.overhead * factor)
    return replace(plan, inputs=inputs, given=given)
