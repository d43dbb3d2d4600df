"""`headgate why` and `headgate trace show` on traces and on directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Headgate
from tests.insight.histories import run, setting, start

from headgate.history.records import Arrivals, Record, Setting
from headgate.history.ring import FOLDER, HistoryRing

OF = {"fire": "critical", "report": "background"}
RECORDS: tuple[Record, ...] = (
    run(1, "report", 0.0, 3.0, answers={"report": (0.0,)}, tuples=41_000),
    run(2, "fire", 3.0, 3.5, 3.75, answers={"fire": (1.0,)}, query_class="critical"),
    run(3, "report", 3.5, 4.0, answers={"report": (3.5,)}),
    run(4, "fire", 6.0, 6.25, answers={"fire": (6.0,)}, query_class="critical"),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of an engine that has died."""
    ring = HistoryRing(tmp_path / FOLDER)
    for record in (setting(OF, policy="fcfs"), *RECORDS):
        ring.write(record)
    ring.close()
    return tmp_path


@pytest.fixture
def trace(headgate: Headgate, sensors: Path, tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    assert headgate("simulate", sensors, "-p", "mbd", "--record", path, "--duration", "300 ms").exit_code == 0
    return path


def test_the_worst_result_in_one_sentence(headgate: Headgate, directory: Path) -> None:
    for asked in ((), ("--worst",), ("--at", "1.5 s")):
        shown = headgate("why", "fire", directory, *asked)
        assert shown.exit_code == 0, shown.stderr
        sentence = shown.stdout.splitlines()[-1]
        assert sentence == (
            "fire waited 2.75 s: 2 s behind background's report (one run, 41,000 tuples), 500 ms own run, "
            "250 ms committing"
        )


def test_the_last_result_as_json(headgate: Headgate, directory: Path) -> None:
    told = json.loads(headgate("why", "fire", directory, "--last", "--json").stdout)
    assert (told["run"]["run"], told["cause"], told["seconds"]) == (4, "own run", 0.25)
    worst = json.loads(headgate("why", "fire", directory, "--json").stdout)
    assert sum(worst["parts"].values()) == worst["seconds"] == 2.75
    assert [(delay["run"], delay["seconds"], delay["cause"]) for delay in worst["delays"]] == [(1, 2.0, "long run")]
    assert worst["moments"]["arrival"] == 1.0


def test_inversions(headgate: Headgate, directory: Path) -> None:
    shown = headgate("why", directory, "--inversions", "--over", "3 s")
    assert shown.exit_code == 0, shown.stderr
    assert (
        "against background, critical lost 2 s in the last 3 s (1 s a result, 2 results), "
        "1.778 s of it to background's filters (report: long run)" in shown.stdout
    )
    told = json.loads(headgate("why", directory, "--inversions", "--over", "3 s", "--json").stdout)
    (pair,) = told["inversions"]
    assert sum(pair["causes"].values()) == pytest.approx(pair["lost"])
    assert sum(share["seconds"] for share in pair["sum"]["to"]) == pytest.approx(pair["sum"]["seconds"])
    assert pair["sum"]["seconds"] == pytest.approx(pair["lost"] * pair["results"])
    assert "no class answered later" in headgate("why", directory, "--inversions", "--over", "1 s").stdout


def test_a_decision_of_a_directory_that_is_not_kept(headgate: Headgate, directory: Path) -> None:
    said = headgate("why", directory, "--decision", "9")
    assert said.exit_code == 2
    assert "there is no decision 9; the record has those from 1 to 4" in said.stderr


def test_outside_the_record_and_unknown_queries(headgate: Headgate, directory: Path) -> None:
    outside = headgate("why", "fire", directory, "--at", "20 s")
    assert (outside.exit_code, outside.stderr.count("\n")) == (2, 1)
    assert "--at 20 s lies outside the record; it is from 0 s to 6.25 s" in outside.stderr
    assert "unknown query 'fyre'; did you mean 'fire'?" in headgate("why", "fyre", directory).stderr
    between = headgate("trace", "show", directory, "--from", "9 s")
    assert "nothing was recorded between --from and --to; the record is from 0 s to 6.25 s" in between.stderr


def test_a_run_that_did_not_end(headgate: Headgate, directory: Path) -> None:
    ring = HistoryRing(directory / FOLDER)
    for record in (setting(OF, policy="fcfs"), start(5, "report", 7.0, tuples=41_000), Arrivals(9.0, "s", ((9.0, 1),))):
        ring.write(record)
    ring.close()
    told = json.loads(headgate("why", "report", directory, "--last", "--json").stdout)
    assert (told["waits_still"], told["run"]["ended"]) == (False, 4.0)
    shown = headgate("trace", "show", directory).stdout
    assert "report began at 7.000 s with 41,000 tuples, which did not end" in shown
    (under_way,) = json.loads(headgate("trace", "show", directory, "--json").stdout)["under_way"]
    assert (under_way["run"], under_way["ended"]) == (5, None)


def test_a_stopped_query_is_said_to_be(headgate: Headgate, directory: Path) -> None:
    ring = HistoryRing(directory / FOLDER)
    ring.write(Setting(7.0, 0.0, setting({"report": "background"}).header))
    ring.close()
    said = headgate("why", "fire", directory)
    assert said.exit_code == 0
    assert "fire was stopped or is paused" in said.stderr
    assert json.loads(headgate("why", "fire", directory, "--json").stdout)["scheduled"] is False


@pytest.mark.parametrize("text", [b"garbage\n", b'{"run":{"id":1}}\n', b"\xff\xfe\n" * 9])
def test_a_damaged_history_is_refused_in_one_line(headgate: Headgate, tmp_path: Path, text: bytes) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "00000001.jsonl").write_bytes(text)
    for asked in (("why", "fire", tmp_path), ("why", tmp_path, "--inversions"), ("trace", "show", tmp_path)):
        said = headgate(*asked)
        assert (said.exit_code, said.stderr.count("\n")) == (2, 1)
        assert "the history here cannot be read" in said.stderr


def test_damaged_lines_among_others_are_left_out(headgate: Headgate, directory: Path) -> None:
    path = directory / FOLDER / "00000001.jsonl"
    (line,) = [line for line in path.read_bytes().splitlines(keepends=True) if b'"id":4' in line]
    path.write_bytes(path.read_bytes() + line.replace(b'"began":6.0', b'"began":"6"') + b"\xff\n")
    assert headgate("why", "fire", directory).exit_code == 0


def test_query_and_directory_in_the_wrong_order(headgate: Headgate, directory: Path) -> None:
    said = headgate("why", directory, "fire", "--inversions")
    assert f"found 'fire'; write headgate why {directory} --inversions" in said.stderr
    assert f"write headgate why {directory} --decision 3" in headgate("why", "fire", directory, "--decision", 3).stderr


def test_a_trace_that_is_cut_off(headgate: Headgate, trace: Path) -> None:
    text = trace.read_text(encoding="utf-8")
    trace.write_text(text[: len(text) // 2].rstrip("\n") + '{"now"', encoding="utf-8")
    said = headgate("why", "alarm", trace)
    assert (said.exit_code, said.stderr.count("\n")) == (2, 1)
    assert "is the file cut short?" in said.stderr


def test_a_trace_is_explained(headgate: Headgate, trace: Path) -> None:
    told = json.loads(headgate("why", "alarm", trace, "--json").stdout)
    assert told["seconds"] == pytest.approx(sum(told["causes"].values()))
    assert told["seconds"] == pytest.approx(sum(told["parts"].values()))


@pytest.mark.parametrize("source", ["directory", "trace"])
def test_what_a_trace_shows(headgate: Headgate, source: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(source)
    shown = headgate("trace", "show", path)
    assert shown.exit_code == 0, shown.stderr
    for heading in ("class", "window", "queue", "running", "commit", "sink", "whole", "longest wait"):
        assert heading in shown.stdout
    tree = json.loads(headgate("trace", "show", path, "--json").stdout)
    for parts in (*tree["classes"].values(), *tree["queries"].values()):
        assert sum(parts["parts"].values()) == pytest.approx(parts["mean"])


def test_a_picture(headgate: Headgate, directory: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    said = headgate("trace", "show", directory, "--plot", picture)
    assert said.exit_code == 0, said.stderr
    assert f"wrote {picture}" in said.stderr
    assert "svg" in picture.read_text(encoding="utf-8")[:400]
