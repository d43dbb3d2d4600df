"""The measured costs of queries, in the form that the data directory stores."""

from __future__ import annotations

from headgate.spark.machine.cost_views import CostView
from headgate.spark.machine.views import Overview
from headgate.spark.store.costs import Costs, Number, QueryCost, UnitCost


def costs_of(view: CostView, overview: Overview) -> Costs:
    """The costs that had been measured when both were taken."""
    queries = {}
    for line in overview.queries:
        if line.query.name in view.queries:
            cost, overhead = view.queries[line.query.name]
            selectivity = line.tuples_out / line.tuples_in if line.tuples_in else None
            queries[line.query.name] = QueryCost(
                line.query.query_class, cost, overhead, selectivity, line.runs, line.tuples_in
            )
    units = {}
    for unit in view.units:
        fitted = unit.fitted
        job, taken, read, result = map(Number, fitted.coefficients, fitted.spread)
        units[unit.name] = UnitCost(unit.query_class, job, taken, read, result, fitted.error, fitted.runs)
    return Costs(
        view.policy,
        view.run_overhead,
        view.train,
        dict(view.rates),
        queries,
        units,
        view.error,
        view.crowding,
        overview.cancelled_runs,
        overview.cancelled_share,
    )
