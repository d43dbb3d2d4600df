"""The live table on a terminal: first without an engine, then with one."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest
from tests.spark.cli.conftest import Headgate
from tests.spark.cli.status_lines import some_queries
from tests.spark.cli.terminal import Terminal

from headgate.cli.live_display import picture

ROOT = Path(__file__).parents[3]
SOON, SPARK = 30.0, 180.0  # seconds; Spark takes ten on a machine with nothing else to do
HEADGATE = (sys.executable, "-c", "from headgate.cli.entry import run; run()")
SHOWS = f"""
import os, select, sys, warnings
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.spark.cli.status_lines import some_queries
from headgate.cli.live_display import display

status = some_queries(int(sys.argv[1]))
with display(Path("spark.log"), quiet=False) as shown:
    step = 0
    while not select.select([0], [], [], 0.02)[0]:  # until its input ends
        shown.update(lambda: status, step * 0.02)
        step += 1
        os.write(2, b"WARN from some library\\n" * 50)
        warnings.warn(f"warning {{step}}")
    shown.note("a change was left out")
print("at the end", file=sys.stderr)
"""

FAILING = """
[[stream]]
name = "readings"
schema = "id bigint, code string"
source = "constant, rate=100, id=[0, 3], code=['1', x]"

[[stream]]
name = "lines"
schema = "id bigint"
source = "constant, rate=100, file=lines.jsonl"

[[class]]
name = "critical"
priority = 60

[[query]]
name = "divides"
class = "critical"
sql = "SELECT 6 / id AS part FROM readings"

[[query]]
name = "casts"
class = "critical"
sql = "SELECT CAST(code AS int) AS code FROM readings"

[[query]]
name = "all"
class = "critical"
sql = "SELECT id FROM lines"
"""


def expected(queries: int, columns: int, lines: int) -> list[str]:
    """All lines of a screen but the first, which says for how many seconds it has been running."""
    texts = [text.plain.rstrip() for text in picture(some_queries(queries), 0.0, columns, lines)]
    return [*texts[1:], *[""] * (lines - len(texts))]


@pytest.mark.slow
def test_nothing_stays_behind_after_a_resize(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", SHOWS, "40"], tmp_path, SOON) as terminal:
        for columns, lines in ((80, 24), (60, 12), (120, 50), (60, 24), (120, 60), (120, 24)):
            terminal.resize(columns, lines)
            wanted = expected(40, columns, lines)
            seen = terminal.wait_for(lambda seen, wanted=wanted: seen[1:] == wanted)  # type: ignore[misc]
            assert seen[0].endswith("s under mbd, inversion=dsp, 7 runs, 7 Spark jobs")
        terminal.end_input()
        terminal.finish()


@pytest.mark.slow
def test_only_the_table_is_on_the_terminal(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", SHOWS, "3"], tmp_path, SOON) as terminal:
        terminal.wait_for(lambda seen: seen[1:] == expected(3, 80, 24))
        terminal.end_input()
        terminal.finish()
        assert "WARN" not in terminal.said
        assert "UserWarning" not in terminal.said
        assert terminal.said.endswith("a change was left out\r\nat the end\r\n")  # when the former screen is back
        log = (tmp_path / "spark.log").read_text(encoding="utf-8")
        assert "WARN from some library" in log
        assert "UserWarning: warning 1" in log


@pytest.mark.spark
def test_failing_tuples_are_counted_and_not_logged_into_the_table(headgate: Headgate, tmp_path: Path) -> None:
    rows = [json.dumps({"id": n}) for n in range(40)]
    (tmp_path / "lines.jsonl").write_text("\n".join([*rows, *["{broken"] * 5]) + "\n", encoding="utf-8")
    (tmp_path / "failing.toml").write_text(FAILING, encoding="utf-8")
    with Terminal([*HEADGATE, "run", "failing.toml", "--dir", "data"], tmp_path, SPARK) as terminal:

        def counted(lines: list[str]) -> bool:
            return {"divides", "casts", "streams"} <= set(dead(lines))

        seen = terminal.wait_for(counted)
        counts = dead(seen)
        assert counts["streams"] == 5
        assert counts["sum"] == counts["streams"] + counts["divides"] + counts["casts"]
        terminal.process.send_signal(signal.SIGINT)
        out = terminal.finish()
        for word in ("WARN", "ERROR", "Exception", "Traceback", "Warning"):
            assert word not in terminal.said
        letters = headgate("dead", tmp_path / "data", "--json").stdout.splitlines()
        assert dead(out.splitlines())["sum"] == len(letters)


def dead(lines: list[str]) -> dict[str, int]:
    """The last column of the table, by the first, without rows whose number is 0."""
    heading = next((number for number, text in enumerate(lines) if text.startswith("query ")), len(lines))
    rows = [text.split() for text in lines[heading + 1 :] if text and text[0].isalpha()]
    counts = [(row[0], int(row[-1].replace(",", ""))) for row in rows if row[-1].replace(",", "").isdigit()]
    return {**{name: count for name, count in counts[1:] if count}, "sum": counts[0][1] if counts else 0}
