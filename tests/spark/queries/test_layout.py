"""How a query is cut: where, under which names its rows wait, and how the same fragments are opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.queries.plain_query import SQL, PlainQuery, without_spark

from headgate.model import HeadgateError, Level
from headgate.spark.machine.interfaces import keyed
from headgate.spark.queries.fragment_logs import is_fragment_log, query_of
from headgate.spark.queries.layout import fragment_log_folder, fragment_log_name, sweep
from headgate.spark.queries.resume import reopen_fragments


@pytest.fixture(autouse=True)
def no_spark() -> Iterator[None]:
    with without_spark():
        yield


@given(
    name=st.text(min_size=1, max_size=8).filter(lambda name: "#" not in name),
    epoch=st.integers(0, 99),
    place=st.lists(st.integers(0, 3), max_size=4).map(tuple),
)
def test_the_name_of_a_fragment_log_tells_its_query(name: str, epoch: int, place: tuple[int, ...]) -> None:
    log_name = fragment_log_name(name, epoch, place)
    assert (is_fragment_log(log_name), is_fragment_log(name)) == (True, False)
    assert (query_of(log_name), query_of(name)) == (name, name)


@pytest.mark.parametrize("kind", SQL)
def test_each_operator_is_a_fragment_after_those_that_feed_it(tmp_path: Path, kind: str) -> None:
    query = PlainQuery(tmp_path, SQL[kind])
    query.cut()
    layout = query.layout
    assert {fragment.place for fragment in layout.fragments} == set(query.network.places("q"))
    fed: set[str] = set()
    for fragment in layout.fragments:
        inner = {source.stream for source in fragment.leaves.values()} - {"a", "b"}
        assert inner <= fed
        if fragment.feeds_name is not None:
            fed.add(fragment.feeds_name)
    assert fed == set(layout.logs)
    assert layout.fragments[-1].feeds_name is None  # the last one gives the query's results
    assert not layout.whole
    query.close()


def test_fragments_that_are_opened_again_go_on_where_they_were(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["counts"])
    query.append([("a", 1, 1, 1)])
    query.run()
    query.cut()
    query.append([("a", 1, 1, 2), ("a", 1, 1, 3)])
    query.run(fragments=1)
    cut, positions = query.layout.cut(), keyed(query.positions)
    assert cut is not None
    query.layout.close()
    before = query.positions
    query.layout, query.positions = query.whole, dict(query.starts)
    query.layout, query.positions = reopen_fragments(query.running(), cut, positions, query.cutter)
    assert query.positions == before
    query.finish()
    query.run()
    assert [row[1:] for row in query.results] == [(1, 3)]
    query.close()


def test_fragments_are_not_opened_at_positions_that_no_commit_has(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["chain"])
    query.cut()
    cut = query.layout.cut()
    assert cut is not None
    query.layout.close()
    query.layout = query.whole
    with pytest.raises(HeadgateError, match="nothing is known of"):
        reopen_fragments(query.running(), cut, {}, query.cutter)
    query.close()


def test_a_whole_query_has_no_cut_to_describe(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["chain"])
    assert query.layout.cut() is None
    query.cut()
    assert query.layout.cut() == {"level": Level.OPERATOR, "epoch": 1, "base": keyed(query.starts)}
    query.close()


def test_sweeping_keeps_the_logs_of_the_current_cut_only(tmp_path: Path) -> None:
    current, former, removed = (
        fragment_log_folder(tmp_path, fragment_log_name(name, epoch, (0,)))
        for name, epoch in (("q", 12), ("q", 1), ("removed", 12))
    )
    for folder in (current, former, removed):
        folder.mkdir(parents=True)
    sweep(tmp_path, {"q": 12})
    assert (current.exists(), former.exists(), removed.exists()) == (True, False, False)


def test_discarded_fragment_logs_leave_nothing_on_disk(tmp_path: Path) -> None:
    query = PlainQuery(tmp_path, SQL["pairs"])
    query.cut()
    folders = [log.folder for log in query.layout.logs.values()]
    assert all(folder.exists() for folder in folders)
    query.layout.discard()
    assert not any(folder.exists() for folder in folders)
