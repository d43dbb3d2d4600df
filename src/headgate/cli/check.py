"""`headgate check`: what is wrong with a workload file, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import options
from headgate.cli.console import examples, note, show_json
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.workload import Workload

EXAMPLES = examples("check FILE", "check FILE --engine", "check FILE --engine --policy slope-slack")

OnEngine = Annotated[
    bool, typer.Option("--engine", help="Also what the engine on Spark would refuse: types, sources, sinks.")
]


def check(
    file: options.File, engine: OnEngine = False, policy: options.Policies = None, as_json: options.AsJson = False
) -> None:
    """Say what is wrong with a workload file, line by line; exit 2 if something is.

    Runs nothing and starts no Spark. With --engine folders must be there and ports free, as at the start of a run.
    """
    given = options.check_policies(policy or ())
    try:
        workload = options.load(file)
        problems = _problems(workload, file, given, engine)
    except HeadgateError as error:  # the first that keeps the file from being read
        problems = [error]
    if as_json:
        show_json({"file": str(file), "problems": [str(problem) for problem in problems]})
    else:
        for problem in problems:
            note(f"headgate: {problem}")
    if problems:
        raise typer.Exit(2)
    if not as_json:
        typer.echo(f"{file}: nothing wrong was found")


def _problems(workload: Workload, file: Path, policies: list[str], engine: bool) -> list[HeadgateError]:
    from headgate.sim.policy_fit import policy_problems, target_problems
    from headgate.workload.workload_locations import WorkloadLocations

    places = WorkloadLocations.of_file(file)
    problems: list[HeadgateError] = []
    if engine:
        from headgate.spark.workload_checks import engine_problems

        problems += engine_problems(workload, places)
    else:
        problems += target_problems(workload, places)
    return places.by_line([*problems, *policy_problems(workload, places, policies)])
