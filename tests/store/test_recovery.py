from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.filesink import FileSink
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.recovery import recover
from headgate.spark.store.resultfiles import read
from headgate.spark.store.sinks import Sink, open_sink


def table(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def aside(directory: DataDirectory, run: str, *values: int) -> Output:
    (directory.aside / run).mkdir()
    names = []
    for value in values:
        names.append(f"{run}/part-{value}.parquet")
        pq.write_table(table(value), directory.aside / names[-1])
    return Output.written(directory.aside, tuple(names))


def test_committed_results_arrive_and_others_vanish(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        ledger.commit(Commit(queries={"lines": {"sink": "jsonl"}}))
        ledger.commit(Commit(1, (), {"q": {"s": 3}}, {"q": Output.inline(table(1)), "lines": Output.inline(table(9))}))
        output = aside(directory, "run-2", 2, 3)
        assert output.rows == 2
        ledger.commit(Commit(2, (), {"q": {"s": 5}}, {"q": output}))
        aside(directory, "run-3", 4)  # never committed
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        assert ledger.positions == {"q": {"s": 5}}
        assert read(directory.result("q"))["x"].to_pylist() == [1, 2, 3]
        assert read(directory.result("lines"))["x"].to_pylist() == [9]
        assert list(directory.aside.iterdir()) == []
        assert list(directory.result("lines").glob("*.jsonl"))
        ledger.checkpoint()
        assert ledger.commits.base().number == 3
    with DataDirectory(tmp_path) as directory:
        assert recover(directory).positions == {"q": {"s": 5}}


def test_several_commits_go_forward_in_one_file(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        for value in range(5):
            ledger.commit(Commit(value, outputs={"q": Output.inline(table(value))}))
        ledger.commit(Commit(6, outputs={"q": aside(directory, "run", 5, 6)}))
        ledger.commit(Commit(7, outputs={"q": Output(0)}))
        ledger.close()
        assert read(directory.result("q"))["x"].to_pylist() == list(range(7))
        assert len(list(directory.result("q").glob("*.parquet"))) == 3
        assert list(directory.aside.iterdir()) == []


def test_a_sink_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        ledger.commit(Commit(1, outputs={"q": Output.inline(table(1))}))

        def fail(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(FileSink, "roll_forward_all", fail)
        with pytest.raises(OSError, match="disk full"):
            ledger.checkpoint()
        monkeypatch.undo()
        ledger.commit(Commit(2, outputs={"q": Output.inline(table(2))}))
        ledger.checkpoint()
        assert read(directory.result("q"))["x"].to_pylist() == [1, 2]


def test_a_removed_query_leaves_its_results_in_its_own_sink(tmp_path: Path) -> None:
    for forwarded in (True, False):
        with DataDirectory(tmp_path / str(forwarded)) as directory:
            ledger = recover(directory)
            ledger.commit(Commit(queries={"q": {"sink": "jsonl"}}, outputs={"q": Output.inline(table(1))}))
            ledger.commit(Commit(queries={"q": None}))
            if forwarded:
                ledger.forward()
                assert ledger.sinks == {}
            ledger = recover(directory)
            assert (ledger.queries, ledger.positions, ledger.sinks) == ({}, {}, {})
            assert [path.suffix for path in directory.result("q").glob("part*")] == [".jsonl"]


def test_a_callback_is_called_again_when_it_is_given(tmp_path: Path) -> None:
    seen: list[int] = []
    with DataDirectory(tmp_path) as directory:

        def sink_of(query: str, told: Mapping[str, Any]) -> Sink:
            return open_sink(told["sink"], directory.result(query), lambda rows: seen.extend(rows["x"].to_pylist()))

        ledger = recover(directory, sink_of)
        ledger.commit(Commit(queries={"q": {"sink": "callback"}}, outputs={"q": Output.inline(table(1))}))
        assert recover(directory).queries == {"q": {"sink": "callback"}}  # nobody to call
        for _ in range(2):
            recover(directory, sink_of)
        assert seen == [1]
