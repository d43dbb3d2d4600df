"""Opening the fragments of a query again, after a restart of the engine or of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.model import HeadgateError, Level
from headgate.plan.places import Place
from headgate.spark.machine.interfaces import key
from headgate.spark.queries.layout import Layout, QueryCutter
from headgate.spark.queries.running_query import RunningQuery


def reopen_fragments(
    running: RunningQuery, cut: Mapping[str, Any], at: Mapping[str, int], cutter: QueryCutter
) -> tuple[Layout, dict[Place, int]]:
    """The layout of a query and its positions, from the cut and the positions that commits hold."""
    base = {leaf: cut["base"][key(leaf)] for leaf in running.starts}
    layout = cutter.cut(running.query, Level(cut["level"]), cut["epoch"], base)
    leaves = [leaf for fragment in layout.fragments for leaf in fragment.leaves]
    if unknown := [leaf for leaf in leaves if key(leaf) not in at]:
        layout.close()
        raise HeadgateError(
            f"query '{running.name}' was in pieces, in which an operator gave its results to windows and past them; "
            f"format 2 has two operators for that, and nothing is known of {key(unknown[0])}",
            hint="stop it, and start it under another name",
        )
    return layout, {leaf: at[key(leaf)] for leaf in leaves}
