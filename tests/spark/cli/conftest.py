from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.main import app

Headgate = Callable[..., Result]
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

SMALL = """
[[stream]]
name = "readings"
schema = "id bigint, temp double, ts timestamp"
event_time = "ts"
source = "{source}"

[[class]]
name = "critical"
priority = 60

[[class]]
name = "background"
priority = 10

[[query]]
name = "hot"
class = "critical"
sql = "SELECT id, temp FROM readings WHERE temp >= 50"

[[query]]
name = "counted"
class = "background"
sink = "jsonl"
sql = "SELECT count(*) AS readings, window.start AS since FROM readings GROUP BY window(ts, '10 seconds')"
"""


@pytest.fixture
def headgate(monkeypatch: pytest.MonkeyPatch) -> Headgate:
    """Run the command line inside this process, on a terminal of some width."""

    def run(*arguments: str | Path, columns: int = 200) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A workload that goes on until it is stopped."""
    path = tmp_path / "endless.toml"
    path.write_text(SMALL.format(source="constant, rate=50, temp=[0, 100]"), encoding="utf-8")
    return path


@pytest.fixture
def finite(tmp_path: Path) -> Path:
    """A workload of 60 rows, a second apart; then one that is late by a minute, and a line that is no row."""
    lines = [{"id": n, "temp": float(n), "ts": (BEGAN + timedelta(seconds=n)).isoformat()} for n in range(60)]
    late = {"id": 99, "temp": 99.0, "ts": (BEGAN - timedelta(minutes=1)).isoformat()}
    text = [json.dumps(line) for line in [*lines, late]]
    (tmp_path / "rows.jsonl").write_text("\n".join([*text, "{broken"]) + "\n", encoding="utf-8")
    path = tmp_path / "finite.toml"
    path.write_text(SMALL.format(source="constant, rate=50, file=rows.jsonl"), encoding="utf-8")
    return path
