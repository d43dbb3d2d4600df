from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import csv, parquet
from tests.cli.conftest import Headgate

ROWS = "id,change_rate,access\na,1,5\nb,2,4\nc,3,3\nd,4,2\ne,5,1\n"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """The example of Carney 2005, table 2.1, row d."""
    path = tmp_path / "pages.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_plan_is_written(headgate: Headgate, pages: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"plan.{ending}"
    result = headgate("fresh", "plan", pages, "--bandwidth", "5", "--out", out)
    assert result.exit_code == 0, result.output
    table = csv.read_csv(out) if ending == "csv" else parquet.read_table(out)
    assert table.column_names == ["id", "frequency", "freshness"]
    assert table.column("id").to_pylist() == ["a", "b", "c", "d", "e"]
    assert table.column("frequency").to_pylist() == pytest.approx([1.68, 1.83, 1.49, 0, 0], abs=0.01)


def test_the_summary_in_words(headgate: Headgate, pages: Path) -> None:
    shown = headgate("fresh", "plan", pages, "-b", "5").stdout
    assert "5 elements, bandwidth 5 per period" in shown
    assert "2 elements that change and are wanted get no refresh" in shown
    assert "0.4995" in shown


def test_the_summary_as_json(headgate: Headgate, pages: Path) -> None:
    result = headgate("fresh", "plan", pages, "-b", "5", "--json")
    found = json.loads(result.stdout)
    assert found["perceived_freshness"] == pytest.approx(0.49947, abs=1e-5)
    assert (found["bandwidth"], found["unrefreshed"], found["elements"]) == (5.0, 2, 5)
    assert found["general"] < found["perceived_freshness"] < found["more"]
    gained = (found["more"] - found["less"]) / (0.2 * 5)
    assert found["multiplier"] == pytest.approx(gained, rel=0.05)


def test_columns_are_named_by_options(headgate: Headgate, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("url,lambda,hits,kb,often\na,1,5,2,1\nb,2,4,1,1\n", encoding="utf-8")
    names = ("--id", "url", "--change-rate", "lambda", "--access", "hits", "--size", "kb", "--now", "often")
    found = json.loads(headgate("fresh", "plan", path, "-b", "3", *names, "--json").stdout)
    assert found["now_is_even"] is False
    assert found["now"] == pytest.approx(5 / 9 * 0.63212 + 4 / 9 * 0.43233, abs=1e-4)


def test_floors(headgate: Headgate, pages: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.csv"
    assert headgate("fresh", "plan", pages, "-b", "5", "--min-freshness", "0.2", "--out", out).exit_code == 0
    assert min(csv.read_csv(out).column("freshness").to_pylist()) >= 0.2 - 1e-12


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture(headgate: Headgate, pages: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"p.{ending}"
    result = headgate("fresh", "plan", pages, "-b", "5", "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000


def test_a_simulation(headgate: Headgate, pages: Path) -> None:
    asked = ("fresh", "simulate", pages, "-b", "5", "--periods", "200", "--accesses", "500")
    found = json.loads(headgate(*asked, "--json").stdout)["plans"]
    assert set(found) == {"plan", "general", "now"}
    for row in found.values():
        assert abs(row["measured"] - row["formula"]) <= 1.5 * row["half_width"]
    assert "formula" in headgate(*asked).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,change_rate,access\na,-1,1\n", "change_rate is negative in row 1 (id a)"),
        ("id,change_rate,access\na,,1\nb,1,1\n", "change_rate is missing in row 1 (id a)"),
        ("id,change_rate,access\na,1,0\nb,1,0\n", "access sums to 0"),
        ("id,change_rate,access\na,1,1\na,1,1\n", "id is not unique: a"),
        ("id,change_rate,access\na,x,1\n", "column 'change_rate' holds something else than numbers"),
        ("id,change_rate,acess\na,1,1\n", "unknown column 'access'; did you mean 'acess'?"),
        ("id,change_rate,access,size\na,1,1,-2\n", "size is negative in row 1 (id a)"),
        ("id,change_rate,access\n,1,1\n1,1,1\n", "id is missing in row 1"),
        ("id,change_rate,access\n", "there are no elements"),
    ],
)
def test_bad_tables(headgate: Headgate, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    result = headgate("fresh", "plan", path, "-b", "5")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-b", "0"), "bandwidth must be more than 0"),
        (("-b", "5", "--size", "kb"), "unknown column 'kb'"),
        (("-b", "5", "--out", "plan.txt"), "--out cannot write 'plan.txt'"),
        (("-b", "5", "--min-freshness", "0.9"), "the floors need a bandwidth of"),
        (("-b", "5", "--min-freshness", "2"), "min_freshness is above 1 in rows 1 (id a), 2 (id b)"),
    ],
)
def test_bad_options(headgate: Headgate, pages: Path, arguments: tuple[str, ...], message: str) -> None:
    result = headgate("fresh", "plan", pages, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_none(headgate: Headgate, tmp_path: Path) -> None:
    assert "there is no such file" in headgate("fresh", "plan", tmp_path / "x.csv", "-b", "5").stderr
    wrong = tmp_path / "x.parquet"
    wrong.write_text("no", encoding="utf-8")
    result = headgate("fresh", "plan", wrong, "-b", "5")
    assert "this is no parquet file" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_timetable(headgate: Headgate, pages: Path, tmp_path: Path) -> None:
    out = tmp_path / "times.csv"
    result = headgate("fresh", "timetable", pages, "-b", "5", "--periods", "10", "--out", out)
    assert result.exit_code == 0, result.output
    assert "visits in 10 periods" in result.stdout
    table = csv.read_csv(out)
    assert table.column_names == ["time", "id"]
    assert 48 <= table.num_rows <= 52
    assert set(table.column("id").to_pylist()) == {"a", "b", "c"}


def test_a_split_timetable(headgate: Headgate, pages: Path, tmp_path: Path) -> None:
    now = tmp_path / "now.csv"
    now.write_text(ROWS.replace("e,5,1", "e,5,90"), encoding="utf-8")
    asked = ("fresh", "timetable", pages, "-b", "5", "--periods", "10", "--split", "0.2", "--moved", now)
    result = headgate(*asked, "--json")
    assert "the split gives +" in result.stderr
    assert {visit["id"] for visit in json.loads(result.stdout)["visits"]} == {"a", "b", "c", "e"}
    now.write_text(ROWS.replace("e,5,1", "f,5,90"), encoding="utf-8")
    assert "not the same ones" in headgate(*asked).stderr
