"""A snapshot of the engine with only what one tenant may see of it: its own queries, and numbers made of those."""

from __future__ import annotations

from dataclasses import replace

from headgate.server.workspace.names import Names
from headgate.spark.machine.views import Overview, QueryView


def own_overview(overview: Overview, names: Names) -> Overview:
    """The snapshot with the queries of a tenant alone, under its own names; without a tenant, as it is.

    What counts the work of all tenants is left out: runs, jobs, decisions, what workers do.
    """
    if not names.tenant:
        return overview
    queries = tuple(_own(view, names) for view in overview.queries if names.has(view.query.name))
    used = {view.query.query_class for view in queries}
    return replace(
        overview,
        policy_error="",
        spark_error="Spark is being started again" if overview.spark_error else "",
        runs=0,
        jobs=0,
        decided=0,
        classes={name: query_class for name, query_class in overview.classes.items() if name in used},
        queries=queries,
        doing=(),
        newest=tuple(
            replace(change, query=names.short(change.query)) for change in overview.newest if names.has(change.query)
        ),
        cancelled_runs=0,
        cancelled_share=0.0,
        counted=tuple(counted for counted in overview.counted if counted.space == names.tenant),
    )


def _own(view: QueryView, names: Names) -> QueryView:
    """A query under the tenant's name for it, and with texts that use its names."""
    own = names.tenant + ".."
    return replace(
        view, query=replace(view.query, name=names.short(view.query.name)), error=view.error.replace(own, "")
    )
