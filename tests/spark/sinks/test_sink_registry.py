from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.model import HeadgateError, Spec
from headgate.spark.sinks import registry
from headgate.spark.sinks.base import Call, FunctionSink, Sink
from headgate.spark.sinks.registry import behind_of, is_file, needs_function, needs_own_thread, open_sink, parse_sink

SINKS = {"parquet", "jsonl", "memory", "console", "blackhole", "table", "callback"}


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.SinkKind]:
    """A copy of the registry that a test may fill."""
    registry._load()
    copy = dict(registry._KINDS)
    monkeypatch.setattr(registry, "_KINDS", copy)
    return copy


def test_a_new_sink_needs_no_more_than_to_be_registered(tmp_path: Path, kinds: dict[str, registry.SinkKind]) -> None:
    rows: list[int] = []

    def check(spec: Spec) -> None:
        if spec.settings.get("topic") == "":
            raise HeadgateError("topic is empty")

    @registry.register("queue", settings=("topic",), check=check, may_lag=True)
    def open_queue(spec: Spec, folder: Path, call: Call) -> Sink:
        return FunctionSink(lambda table: rows.extend(table["x"].to_pylist()))

    text = "queue, topic=alerts, behind=2s"
    open_sink(text, tmp_path).roll_forward(1, pa.table({"x": [1, 2]}))
    assert rows == [1, 2]
    assert (behind_of(text), is_file(text), needs_own_thread(text), needs_function(text)) == (2.0, False, True, False)
    with pytest.raises(HeadgateError, match="unknown setting 'topics' of 'queue'"):
        parse_sink("queue, topics=alerts")
    with pytest.raises(HeadgateError, match="topic is empty"):
        parse_sink('queue, topic=""')
    with pytest.raises(ValueError, match=r"there is a sink 'queue' already: .*open_queue"):
        registry.register("queue")(open_queue)


def test_what_the_engine_must_know_of_the_sinks(kinds: dict[str, registry.SinkKind]) -> None:
    assert set(kinds) == SINKS
    assert {name for name, kind in kinds.items() if kind.in_files} == {"parquet", "jsonl"}
    assert {name for name, kind in kinds.items() if kind.may_lag} == {"parquet", "jsonl"}
    assert {name for name, kind in kinds.items() if kind.own_thread} == {"console", "table", "callback"}
    assert {name for name, kind in kinds.items() if kind.needs_function} == {"table", "callback"}


def test_modules_of_installed_packages_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def plugins(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("mathematics", "math", group)]

    monkeypatch.setattr(registry, "entry_points", plugins)
    registry._load.__wrapped__()
    assert asked == ["headgate.sinks"]


def test_asking_for_a_sink_does_not_import_spark() -> None:
    """`headgate results` asks which queries have files, and must not wait for Spark's modules."""
    lines = (
        "import sys",
        "from headgate.spark.sinks.registry import is_file",
        "print(is_file(None), 'pyspark' in sys.modules)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
