"""`headgate explain`: print a workload as SQL, plans, network, units, or measured costs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import explain_costs, explain_json, options
from headgate.cli.console import examples, show_json
from headgate.model import HeadgateError, Level
from headgate.plan import explain as text
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network

if TYPE_CHECKING:
    from headgate.workload import Workload

EXAMPLES = examples(
    "explain FILE",
    "explain FILE --stage network --query q1",
    "explain FILE --stage units --level operator",
    "explain FILE --stage units --fuse class --json",
    "explain out/plant --stage costs",
)


class Stage(StrEnum):
    """The representations of a workload, in the order in which they are derived."""

    SQL = "sql"
    PLAN = "plan"
    NETWORK = "network"
    UNITS = "units"
    COSTS = "costs"


class UnitLevel(StrEnum):
    """The levels at which units can be asked for; shared sets and groups come out of `query`."""

    QUERY = "query"
    OPERATOR = "operator"
    SEGMENT = "segment"
    PATH = "path"


StageOption = Annotated[
    str,
    typer.Option(
        "--stage",
        help="Which representation to print.",
        metavar="sql|plan|network|units|costs",
        autocompletion=options.values_of(Stage),
    ),
]
LevelOption = Annotated[
    str,
    typer.Option(
        "--level",
        help="With --stage units: how large a unit is.",
        metavar="query|operator|segment|path",
        autocompletion=options.values_of(UnitLevel),
    ),
]
QueryOption = Annotated[
    str | None, typer.Option("--query", help="This query only.", show_default=False, metavar="NAME")
]


def explain(
    file: options.File,
    stage: StageOption = "plan",
    level: LevelOption = "query",
    fuse: options.FuseOption = None,
    query: QueryOption = None,
    as_json: options.AsJson = False,
) -> None:
    """Print what a workload becomes: its SQL, its plans, the network of all queries, the units.

    Units are what a policy chooses between. Numbers with # are operators of the network. What was measured on Spark is
    kept in a run's data directory: give that instead of a file for --stage costs.
    """
    asked = options.choice(Stage, stage, "stage")
    if asked is Stage.COSTS:
        explain_costs.explain(file, query, as_json=as_json)
        return
    size = Level(options.choice(UnitLevel, level, "level"))
    if fuse not in (None, Fuse.OFF.value) and size is not Level.QUERY:
        raise HeadgateError(f"--fuse {fuse} groups whole queries, found --level {level}", hint="leave one of them out")
    workload = options.load(file, fuse=fuse)
    network = _network(workload)
    if as_json:
        show_json(explain_json.of_stage(asked, network, size, workload.fuse, query))
    else:
        typer.echo(_text(asked, network, size, workload.fuse, query))


def _network(workload: Workload) -> Network:
    """All queries, those that start later too."""
    return Network.of(workload.queries, workload.streams, workload.classes, workload.tables, reads=workload.reads)


def _text(stage: Stage, network: Network, level: Level, fuse: Fuse, query: str | None) -> str:
    if stage is Stage.SQL:
        return text.explain_sql(network, query)
    if stage is Stage.PLAN:
        return text.explain_plans(network, query)
    if stage is Stage.NETWORK:
        return text.explain_network(network, query)
    return text.explain_units(network, level, fuse, query)
