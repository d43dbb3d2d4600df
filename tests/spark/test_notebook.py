"""What a person at a notebook sees and calls: representations, waiting, results as frames, sources as objects."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import Open

import headgate
from headgate import HeadgateError, Session

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first-steps.ipynb"
PATIENCE = 120.0


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened()
    session.stream("s", "id bigint, word string")
    return session


def test_session_is_listed_for_completion() -> None:
    assert {"Session", "HeadgateError"} <= set(dir(headgate))


def test_everything_has_a_representation(session: Session) -> None:
    query = session.query("q", "SELECT id, word FROM s", query_class=None)
    session.append("s", [{"id": 1, "word": "<b>"}])
    assert session.drain(PATIENCE)
    assert repr(query) == "<query 'q', class 'default', running, 1 results>"
    assert "<td>&lt;b&gt;</td>" in query._repr_html_()
    assert repr(session.status()).startswith("<status after ")
    assert "under fcfs: 1 query, 1 runs>" in repr(session.status())
    assert repr(session).startswith("<session on ")
    assert session._repr_html_().count("<tr>") == 1 + 2  # headings, a class, a query
    assert (list(session.queries), list(session.streams)) == (["q"], ["s"])
    session.close()
    assert repr(session).startswith("<closed session on ")
    assert repr(query) == "<query 'q' of a closed session>"
    assert session._repr_html_() == repr(session)
    assert "closed session" in query._repr_html_()
    assert query.read().num_rows == 1


def test_show_prints_the_first_rows(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    query = session.query("q", "SELECT id, word FROM s")
    session.append("s", [{"id": number, "word": "w" * 50} for number in range(3)])
    query.wait(3, PATIENCE)
    query.show(2)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == ["id", "--", "0", "1", "1"]
    assert shown[2].endswith("w…")
    assert shown[-1] == "1 more rows"
    with pytest.raises(HeadgateError, match="rows"):
        query.show(-1)


def test_waiting_ends_when_there_are_enough_rows_or_none_can_come(session: Session) -> None:
    query = session.query("q", "SELECT id FROM s WHERE id > 0")
    session.append("s", [{"id": number, "word": ""} for number in range(3)])
    assert query.wait(rows=2, timeout=PATIENCE)["id"].to_pylist() == [1, 2]
    with pytest.raises(HeadgateError, match="query 'q' has 2 of 3 rows, and the timeout is over"):
        query.wait(rows=3, timeout="100 ms")
    query.pause()
    with pytest.raises(HeadgateError, match="query 'q' has 2 of 3 rows, and it is paused"):
        query.wait(rows=3)
    for wrong in (-1, "many"):
        with pytest.raises(HeadgateError, match="rows"):
            query.wait(rows=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named(session: Session, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = session.query("q", "SELECT id FROM s")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HeadgateError, match=f"{package} is not installed; pip install {package}"):
        getattr(query, f"to_{package}")()


def test_results_become_a_frame_of_polars(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    query = session.query("q", "SELECT id FROM s")
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: ("frame", table.column_names)))
    assert query.to_polars() == ("frame", ["id"])


def endless() -> Iterator[dict[str, object]]:
    number = 0
    while True:
        yield {"id": number, "word": "made"}
        number += 1


@pytest.mark.parametrize(
    "source",
    [
        [{"id": 1, "word": "a"}, '{"id": 2, "word": "b"}'],
        ({"id": number, "word": "a"} for number in (1, 2)),
        [pa.table({"id": [1, 2], "word": ["a", "b"]})],
    ],
    ids=["list", "generator", "tables"],
)
def test_an_iterable_is_a_source(opened: Open, source: Any) -> None:
    session = opened()
    session.stream("fed", "id bigint, word string", source=source)
    query = session.query("q", "SELECT id FROM fed", since="start")
    assert sorted(query.wait(2, PATIENCE)["id"].to_pylist()) == [1, 2]


def test_a_generator_without_end_is_closed_with_the_session(opened: Open) -> None:
    session = opened()
    session.stream("fed", "id bigint, word string", source=endless())
    query = session.query("q", "SELECT id FROM fed", since="start")
    query.wait(10, PATIENCE)
    session.close()


def test_a_frame_of_structured_streaming_is_a_source(opened: Open, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"id": 1, "word": "a"}\n{"id": 2, "word": "b"}\n')
    frame = spark.readStream.schema("id bigint, word string").json(str(folder))
    session = opened()
    session.stream("fed", "id bigint, word string", source=frame)
    query = session.query("q", "SELECT id FROM fed", since="start")
    assert sorted(query.wait(2, PATIENCE)["id"].to_pylist()) == [1, 2]
    assert (session.directory / "checkpoints" / "fed").is_dir()
    with pytest.raises(HeadgateError, match="does not stream"):
        session.stream("wrong", "id bigint, word string", source=spark.range(3))


def test_what_is_no_source_is_refused(opened: Open) -> None:
    session = opened()
    for wrong in (3, {"id": 1}):
        with pytest.raises(HeadgateError, match="source"):
            session.stream("fed", "id bigint", source=wrong)  # type: ignore[arg-type]
    assert session.streams == {}


def test_the_notebook_runs(spark: SparkSession) -> None:
    """Cell by cell, as a notebook does; the last expression of a cell must have a representation."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown: list[str] = []
    try:
        for cell in (cell for cell in cells if cell["cell_type"] == "code"):
            assert cell["outputs"] == [], "committed without output"
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, str(NOTEBOOK), "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
                shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    finally:
        if "hg" in names:
            names["hg"].close()
    assert "19" in shown
    assert any("press-0" in text for text in shown)
