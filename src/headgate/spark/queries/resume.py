"""Opening a query again in the pieces that it was in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.model import HeadgateError, Level
from headgate.plan.sharing import Place
from headgate.spark.engine.fragments import key
from headgate.spark.queries.layout import Shape, Shaper
from headgate.spark.queries.running_query import RunningQuery


def cut_before(
    running: RunningQuery, cut: Mapping[str, Any], at: Mapping[str, int], shaper: Shaper
) -> tuple[Shape, dict[Place, int]]:
    """The pieces that a query was in, as commits tell of the cut, and where it stood in them."""
    base = {leaf: cut["base"][key(leaf)] for leaf in running.starts}
    shape = shaper.cut(running.query, Level(cut["level"]), cut["epoch"], base)
    leaves = [leaf for piece in shape.pieces for leaf in piece.leaves]
    if unknown := [leaf for leaf in leaves if key(leaf) not in at]:
        shape.close()
        raise HeadgateError(
            f"query '{running.name}' was in pieces, in which an operator gave its results to windows and past them; "
            f"format 2 has two operators for that, and nothing is known of {key(unknown[0])}",
            hint="stop it, and start it under another name",
        )
    return shape, {leaf: at[key(leaf)] for leaf in leaves}
