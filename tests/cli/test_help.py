from __future__ import annotations

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
        "fresh",
        "fresh plan",
        "fresh simulate",
    ],
)
@pytest.mark.parametrize("columns", [80, 140])
def test_help_has_examples(headgate: Headgate, command: str, columns: int) -> None:
    result = headgate(*command.split(), "--help", columns=columns)
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"$ headgate {command}".rstrip() in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= columns


def test_the_main_help_names_every_command(headgate: Headgate) -> None:
    shown = headgate("--help").stdout
    for command in ("simulate", "compare", "sweep", "explain", "policies", "replay", "why"):
        assert command in shown
