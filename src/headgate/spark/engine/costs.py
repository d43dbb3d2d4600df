"""The measured costs of queries, in the form that the data directory stores."""

from __future__ import annotations

from headgate.spark.machine.views import Overview
from headgate.spark.store.costs import Costs, QueryCost


def costs_of(overview: Overview) -> Costs:
    """The costs that had been measured when an overview was taken."""
    costs = {}
    for view in overview.queries:
        if view.query.name in overview.costs:
            cost, overhead = overview.costs[view.query.name]
            selectivity = view.tuples_out / view.tuples_in if view.tuples_in else None
            costs[view.query.name] = QueryCost(
                view.query.query_class, cost, overhead, selectivity, view.runs, view.tuples_in
            )
    return Costs(overview.policy, overview.run_overhead, overview.train, dict(overview.rates), costs)
