from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.main import app

FIXTURES = Path(__file__).parent / "fixtures"
Headgate = Callable[..., Result]


@pytest.fixture
def headgate(monkeypatch: pytest.MonkeyPatch) -> Headgate:
    """Run the command line inside this process, on a terminal of some width."""

    def run(*arguments: str | Path, columns: int = 200) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def two() -> Path:
    """Example 1 of Sharaf et al. 2006: two queries, one class."""
    return FIXTURES / "two.toml"


@pytest.fixture
def sensors() -> Path:
    """Four queries in three classes, one operator shared."""
    return FIXTURES / "sensors.toml"
