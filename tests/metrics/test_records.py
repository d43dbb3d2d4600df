from array import array
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.metrics.builders import query

from headgate.metrics import QueryRecords, Records
from headgate.model import HeadgateError


def two_queries() -> Records:
    return Records(
        [query("b", [(0.0, 2.0), (1.0, 3.0)], "low", ideal=0.5), query("a", [(0.0, 1.0), (2.5, 3.0)], "high")],
        {"low": 1.0, "high": 2.0},
    )


def test_table_is_sorted_by_emission_then_query() -> None:
    table = two_queries().table()
    assert table.column_names == ["query", "class", "arrival", "emission", "response_time", "slowdown"]
    assert table["query"].to_pylist() == ["a", "b", "a", "b"]
    assert table["class"].to_pylist() == ["high", "low", "high", "low"]
    assert table["response_time"].to_pylist() == [1.0, 2.0, 0.5, 2.0]
    assert table["slowdown"].to_pylist() == [1.0, 4.0, 0.5, 4.0]


def test_parquet_and_csv_read_back(tmp_path: Path) -> None:
    records = two_queries()
    records.write(tmp_path / "r.parquet")
    records.write(tmp_path / "r.csv")
    rows = records.table().to_pylist()
    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pylist() == rows
    assert pyarrow.csv.read_csv(tmp_path / "r.csv").to_pylist() == rows


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    Records([], {}).write(tmp_path / "r.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").num_columns == 6


@pytest.mark.parametrize("name", ["r.xlsx", "r"])
def test_unknown_format_names_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(HeadgateError, match=r"use \.parquet or \.csv"):
        two_queries().write(tmp_path / name)


@pytest.mark.parametrize("name", ["none/r.csv", "none/r.parquet"])
def test_a_path_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(HeadgateError, match="cannot write results"):
        two_queries().write(tmp_path / name)


def test_a_result_belongs_to_the_class_at_its_emission() -> None:
    moving = query("q", [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (0.0, 4.0)])
    moving.classes = [(float("-inf"), "a"), (2.0, "b"), (3.5, "a")]
    class_results = {results.query_class: results.columns.emission.tolist() for results in moving.class_results()}
    assert class_results == {"a": [1.0, 4.0], "b": [2.0, 3.0]}
    assert moving.query_class == "a"


def test_slowdown_of_a_composite_tuple_does_not_charge_the_wait_for_its_partner() -> None:
    # Ideal departure 5, ideal time 2, so the reference is 3; departing at 9 is 1 + (9 - 5)/2.
    joined = query("q", [(4.0, 9.0)], ideal=2.0)
    joined.reference = array("d", [3.0])
    assert joined.columns().slowdown.tolist() == [3.0]
    assert joined.columns().response.tolist() == [5.0]


def test_without_ideal_time_there_is_no_slowdown() -> None:
    assert Records([query("q", [(0.0, 1.0)], ideal=0.0)], {"only": 1.0}).table()["slowdown"].to_pylist() == [None]


def test_a_driver_may_go_on_appending() -> None:
    record = QueryRecords("q", 1.0, classes=[(0.0, "only")])
    arrived, emitted = record.arrival.append, record.emission.append
    arrived(0.0)
    emitted(1.0)
    columns = record.columns()
    arrived(1.0)  # its emission has not been written yet
    assert len(columns) == len(record.columns()) == 1
