"""What queries have cost so far, as it is kept with their data."""

from __future__ import annotations

from headgate.spark.machine.views import Overview
from headgate.spark.store.costs import Costs, QueryCost


def costs_of(seen: Overview) -> Costs:
    """What has been measured by the moment of an overview."""
    found = {}
    for view in seen.queries:
        if view.query.name in seen.costs:
            cost, overhead = seen.costs[view.query.name]
            selectivity = view.tuples_out / view.tuples_in if view.tuples_in else None
            found[view.query.name] = QueryCost(
                view.query.query_class, cost, overhead, selectivity, view.runs, view.tuples_in
            )
    return Costs(seen.policy, seen.run_overhead, seen.train, dict(seen.rates), found)
