"""Results of several queries in one Arrow stream of a commit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output, decode, encode

numbers = st.lists(st.integers(0, 9), max_size=4)


V, W = (pa.schema([(name, pa.int64())]) for name in "vw")


def inline_all(tables: list[pa.Table]) -> list[Output]:
    """As one does it whose equal schemas are one object."""
    return Output.inline_all(tables, [V if table.schema.names[0] == "v" else W for table in tables])


def tables(columns: list[list[int]]) -> list[pa.Table]:
    """Every third table has another column."""
    return [pa.table({"v" if place % 3 else "w": pa.array(own, pa.int64())}) for place, own in enumerate(columns)]


@given(st.lists(numbers, max_size=8), st.sets(st.integers(0, 7)))
def test_every_query_gets_its_own_rows_back(columns: list[list[int]], only: set[int]) -> None:
    given_tables = tables(columns)
    outputs = {f"q{place}": output for place, output in enumerate(inline_all(given_tables))}
    number, commit = decode(encode(Commit(7, outputs=outputs), 12))
    assert (number, commit.run) == (12, 7)
    assert [commit.outputs[f"q{place}"].table() for place in range(len(columns))] == given_tables
    _, some = decode(encode(Commit(7, outputs=outputs), 12), {f"q{place}" for place in only})
    assert set(some.outputs) == {f"q{place}" for place in only if place < len(columns)}
    assert all(output.table() == given_tables[int(name[1:])] for name, output in some.outputs.items())


def test_queries_with_the_same_columns_share_and_sizes_add_up() -> None:
    one, two, other = inline_all([pa.table({"v": [1, 2, 3]}), pa.table({"v": [4]}), pa.table({"w": [5]})])
    assert one.shared is not None
    assert one.shared is two.shared
    assert other.shared is None
    assert len(one.shared.data) <= one.size + two.size <= len(one.shared.data) + 1
    assert (one.is_inline, other.is_inline, Output(1, files=("a",)).is_inline) == (True, True, False)


def test_hidden_columns_are_left_out_even_where_they_differ() -> None:
    some = pa.table({"v": [1, 2], "hidden": [0.5, 0.5]})
    for others in (some, some.append_column("more", pa.nulls(2)), some.rename_columns(["v", "other"])):
        outputs = Output.inline_all([some, others.slice(1)], [V, V])
        assert [output.table().to_pydict() for output in outputs] == [{"v": [1, 2]}, {"v": [2]}]
        assert outputs[0].shared is outputs[1].shared is not None


def test_what_is_apart_keeps_only_its_own_rows() -> None:
    large = pa.table({"v": range(1000)})
    _, small = inline_all([large, large.slice(0, 1)])
    assert small.apart().shared is None
    assert small.apart().table() == small.table()
    assert len(small.apart().data) < 1000 < len(small.shared.data if small.shared else b"")


def test_a_commit_log_has_them_after_it_was_opened_again(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    shared = inline_all([pa.table({"v": [1]}), pa.table({"v": [2, 3]})])
    log.append(Commit(1, outputs=dict(zip(("a", "b"), shared, strict=True))))
    log.append(Commit(2, outputs={"a": Output.inline(pa.table({"v": [4]}))}))
    log.close()
    log = CommitLog(tmp_path)
    found = [
        (name, output.table()["v"].to_pylist())
        for _, commit in log.commits()
        for name, output in commit.outputs.items()
    ]
    log.close()
    assert sorted(found) == [("a", [1]), ("a", [4]), ("b", [2, 3])]
