"""Kill -9 at any moment: nothing lost, nothing doubled."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import headgate.spark
from headgate.spark.store import kill_points

ROOT = Path(__file__).parents[3]


def campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: lives are forked, and the tests' own process may have threads."""
    command = [sys.executable, "-W", "error", "-m", "tests.spark.store.kills", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_several_hundred_kills_lose_and_double_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    done = campaign("--turns", "2", "--random", "210")
    with capsys.disabled():
        print(f"\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr
    match = re.match(r"(\d+) kills, (\d+) of them at (\d+) named points", done.stdout)
    assert match is not None
    assert int(match[1]) >= 300
    assert int(match[2]) == 2 * int(match[3]) == 2 * len(kill_points.POINTS)


@pytest.mark.slow
def test_an_engine_that_forgets_too_early_is_noticed() -> None:
    done = campaign("--turns", "1", "--random", "0", "--break")
    assert done.returncode == 1
    assert "lost" in done.stdout


def test_every_point_is_listed_and_used() -> None:
    folder = Path(headgate.spark.__file__).parent
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    for point in (*kill_points.POINTS, *kill_points.DROP, *kill_points.TAKE_OVER):
        start, _, last = point.rpartition(".")
        assert f'at("{point}"' in text or (f'point="{start}"' in text and f".{last}" in text), point
    assert set(re.findall(r'(?<!\.)\bat\("([^"]+)"', text)) <= {
        *kill_points.POINTS,
        *kill_points.DROP,
        *kill_points.TAKE_OVER,
    }


def test_a_point_does_nothing_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    deaths: list[int] = []
    monkeypatch.setattr("os.kill", lambda process, number: deaths.append(number))
    monkeypatch.setattr(kill_points, "_seen", kill_points._seen.copy())
    kill_points.at("log.append.after")
    monkeypatch.setenv(kill_points.VARIABLE, "log.append.after:2")
    kill_points.at("log.append.before")
    kill_points.at("log.append.after")
    assert deaths == []
    kill_points.at("log.append.after")
    assert deaths == [9]
