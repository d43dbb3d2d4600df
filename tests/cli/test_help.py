from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from tests.cli.conftest import Headgate


@pytest.mark.parametrize(
    "command",
    [
        "",
        "simulate",
        "compare",
        "sweep",
        "explain",
        "policies",
        "policies show",
        "replay",
        "why",
        "trace",
        "trace show",
        "run",
        "results",
        "dead",
        "journal",
        *(f"stream {verb}".rstrip() for verb in ("", "add", "ls", "show", "push", "tail", "dead", "rm", "finish")),
        *(f"query {verb}".rstrip() for verb in ("", "add", "ls", "show", "tail", "pause", "resume", "stop", "move")),
        *(f"query {verb}" for verb in ("replace", "dry-run")),
        *(f"table {verb}".rstrip() for verb in ("", "add", "ls", "refresh", "rm")),
        *(f"class {verb}".rstrip() for verb in ("", "add", "ls", "set", "rm")),
        *(f"policy {verb}".rstrip() for verb in ("", "show", "set", "ls")),
        "status",
        "open",
        "fresh",
        "fresh plan",
        "fresh simulate",
        "fresh timetable",
        "fresh run",
    ],
)
@pytest.mark.parametrize("columns", [80, 140])
def test_help_has_examples(headgate: Headgate, command: str, columns: int) -> None:
    result = headgate(*command.split(), "--help", columns=columns)
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"$ headgate {command}".rstrip() in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert not re.search(r"<(bool|list.*)>", result.stdout)
    assert not _broken_sentences(result.stdout, columns)


def test_the_main_help_names_every_command(headgate: Headgate) -> None:
    shown = headgate("--help").stdout
    for command in ("simulate", "compare", "sweep", "explain", "policies", "replay", "why", "trace"):
        assert command in shown


def _broken_sentences(shown: str, columns: int) -> list[str]:
    """Lines above the options that end although the first word of the next line would have fitted."""
    lines = [line.rstrip() for line in shown.split("╭")[0].splitlines()]
    return [
        line
        for line, following in pairwise(lines)
        if line and following and len(line) + len(following.split()[0]) + 2 <= columns
    ]


def test_run_tells_its_default_policy(headgate: Headgate) -> None:
    from headgate.spark.engine.stored_settings import DEFAULT_POLICY

    assert f"[default: ({DEFAULT_POLICY})]" in headgate("run", "--help").stdout


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("simulate x.toml --fuse ", ["off", "class", "all"]),
        ("run x.toml --fuse ", ["off", "class", "all"]),
        ("explain x.toml --stage u", ["units"]),
        ("run x.toml --policy hn", ["hnr"]),
    ],
)
def test_completion_of_values(command: str, offered: list[str]) -> None:
    words = f"headgate {command}"
    asked = {"_HEADGATE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    script = "import sys; sys.argv[0] = 'headgate'; from headgate.cli.entry import run; run()"
    said = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert said.stdout.split() == offered
