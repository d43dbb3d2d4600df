"""`headgate check`: what is wrong with a workload file, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli import options
from headgate.cli.console import examples, note, show_json
from headgate.model import HeadgateError

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
    problems = _problems(file, given, engine)
    if as_json:
        show_json({"file": str(file), "problems": [str(problem) for problem in problems]})
    else:
        for problem in problems:
            note(f"headgate: {problem}")
    if problems:
        raise typer.Exit(2)
    if not as_json:
        typer.echo(f"{file}: nothing wrong was found")


def _problems(file: Path, policies: list[str], engine: bool) -> list[HeadgateError]:
    """All that is wrong; of a part that cannot be read only why, and nothing else if the file is not of its form."""
    from headgate.sim.policy_fit import policy_problems, target_problems
    from headgate.workload.problems import Problems
    from headgate.workload.reader import read_workload
    from headgate.workload.workload_locations import WorkloadLocations, by_line

    problems = Problems(keep=True)
    try:
        workload = read_workload(file, problems)
    except HeadgateError as error:
        problems.note(error)
        return by_line(problems.found)
    places = WorkloadLocations.of_file(file)
    if engine:
        from headgate.spark.workload_checks import engine_problems

        further = engine_problems(workload, places)
    else:
        further = target_problems(workload, places)
    for problem in [*further, *policy_problems(workload, places, policies)]:
        problems.note(problem)
    return by_line(problems.found)
