"""The commands of docs/figures.md exist: their files, options, policies, settings and measures."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from headgate.cli.compare import check_measure
from headgate.cli.main import app
from headgate.cli.options import check_policies
from headgate.reproduction.catalogue import own_folder, read_catalogue
from headgate.sweep.plan import plan_sweep
from headgate.workload import read_workload

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
COMMANDS = [code for code in re.findall(r"`([^`]+)`", PAGE) if re.match(r"(headgate|python|make) [^ ]+", code)]


def parsed(words: list[str]) -> dict[str, Any]:
    """The parameters of a command line, as typer reads it."""
    group: Any = typer.main.get_command(app)
    command = group.commands[words[1]]
    context = command.make_context(words[1], words[2:])
    return dict(context.params)


@pytest.mark.parametrize("command", [code for code in COMMANDS if code.startswith("headgate ")])
def test_a_headgate_command_could_run(command: str) -> None:
    given = parsed(shlex.split(command))
    if command.startswith("headgate reproduce"):
        assert read_catalogue(own_folder()).chosen(given["document"], given["ids"])
        return
    workload = read_workload(ROOT / given["file"])
    measures = [*(given.get("measure") or ()), *([given["by"]] if "by" in given else ())]
    for measure in measures:
        check_measure(workload, measure)
    chosen = check_policies(given["policy"])
    if "vary" in given:
        assert len(plan_sweep(workload, chosen, given["vary"], 1, "", bin=0.1).tasks) > 1


@pytest.mark.parametrize("command", [code for code in COMMANDS if not code.startswith("headgate ")])
def test_another_command_is_there(command: str) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif words[1] == "-m":
        assert importlib.util.find_spec(words[2]) is not None
    else:
        assert (ROOT / words[1]).is_file()


def test_every_workload_and_experiment_is_named() -> None:
    for path in (ROOT / "workloads").glob("*.toml"):
        if not path.stem.startswith("almoakar"):  # some of those are letters in a row, or read by the experiment
            assert re.search(rf"{re.escape(path.stem)}(\.toml|`)", PAGE), path.stem
    for path in (ROOT / "experiments").glob("*/*.py"):
        if "__main__" in path.read_text(encoding="utf-8"):
            assert f"python -m experiments.{path.parent.name}.{path.stem}" in PAGE


def test_the_headline_of_the_readme_is_what_was_measured() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/benchmarks.md"))
    latency = page.partition("### 50 filters\n")[2]
    rate = page.partition("### Rows per second through 50 filters\n")[2]
    other, own = "Structured Streaming, a query each", "Headgate, `fuse=class`"
    assert f"**{first_number(latency, own):.2f} s** on average, {first_number(latency, other):.1f} s" in readme
    assert f"**{round(first_number(rate, own), -3):,.0f}** rows a second" in readme
    assert f"against {round(first_number(rate, other), -2):,.0f}" in readme


def first_number(table: str, row: str) -> float:
    """The first number of the first row of this name."""
    return float(table.partition(f"| {row} | ")[2].partition(" ")[0].replace(",", ""))
