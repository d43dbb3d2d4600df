from __future__ import annotations

import math
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing.records import schema_of
from headgate.spark.ingest.sources import Batch, Reader, open_source, registry
from headgate.workload.arrivals import ARRIVALS

STREAM = Stream(name="numbers", schema=(("x", "bigint"),))


class Countdown(Reader):
    """A source of one batch, as a plugin would bring it."""

    def __init__(self, count: int) -> None:
        self._count, self._done = count, False

    @property
    def done(self) -> bool:
        return self._done

    def read(self, now: float) -> list[Batch]:
        self._done = True
        return [Batch(pa.table({"x": list(range(self._count))}, schema=schema_of(STREAM)))]

    def due(self, now: float) -> float:
        return math.inf if self.done else now


@pytest.fixture
def openers(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.Opener]:
    """A copy of the registry that a test may fill."""
    registry._load()
    copy = dict(registry._OPENERS)
    monkeypatch.setattr(registry, "_OPENERS", copy)
    return copy


def test_a_new_source_needs_no_more_than_to_be_registered(openers: dict[str, registry.Opener]) -> None:
    @registry.register("countdown")
    def open_countdown(request: registry.SourceRequest) -> Reader:
        request.settings.only(("count",))
        return Countdown(request.settings.whole("count", low=1) or 3)

    reader = open_source("countdown, count=2", STREAM, Path())
    assert [batch.rows["x"].to_pylist() for batch in reader.read(0.0)] == [[0, 1]]
    with pytest.raises(HeadgateError, match="source of 'numbers': unknown countdown setting 'counts'"):
        open_source("countdown, counts=2", STREAM, Path())
    with pytest.raises(HeadgateError, match=r"unknown kind of source 'count-down'; did you mean 'countdown'"):
        open_source("count-down", STREAM, Path())
    with pytest.raises(ValueError, match=r"there is a source 'countdown' already: .*open_countdown"):
        registry.register("countdown")(open_countdown)


def test_every_kind_of_arrivals_is_a_source(openers: dict[str, registry.Opener]) -> None:
    assert set(openers) == {*ARRIVALS, "directory", "socket", "iterator"}
    with pytest.raises(HeadgateError, match="an iterator has no string"):
        open_source("iterator", STREAM, Path())


def test_modules_of_installed_packages_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def plugins(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("mathematics", "math", group)]

    monkeypatch.setattr(registry, "entry_points", plugins)
    registry._load.__wrapped__()
    assert asked == ["headgate.sources"]
