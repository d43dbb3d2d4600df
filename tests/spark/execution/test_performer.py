"""Every kind of task has a handler, and errors come back as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headgate.model import HeadgateError, Stream
from headgate.spark.execution.performer import Performer
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import tasks as t

LANES = {t.WORKER, t.BACKGROUND, t.COMMIT, t.MAINTENANCE, t.FILES, t.KILL}


class Stub:
    """Stands for any part of the engine; what it is called with is `calls`, and it raises `error` if there is one."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[Any] = []
        self.error = error
        self.java = SimpleNamespace(dead=False)
        self.end = 0

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, *given))
            if self.error is not None:
                raise self.error
            return self

        return call

    def blame(self, java: Any, error: Exception) -> Exception:
        return SparkGoneError("Spark is gone") if java.dead else error


def performer(ingest: Stub | None = None, sinks: Stub | None = None, evaluator: Stub | None = None) -> Performer:
    parts: list[Any] = [evaluator or Stub(), Stub(), sinks or Stub(), Stub(), ingest or Stub(), dict, str]
    return Performer(*parts)


def test_every_task_has_a_handler_and_a_lane() -> None:
    kinds = {kind for kind in vars(t).values() if isinstance(kind, type) and issubclass(kind, t.Task)} - {t.Task}
    assert set(performer()._handlers) == kinds
    for kind in kinds - {t.Prepare, t.Deliver, t.CloseSink}:  # those are told their lane
        assert kind.lane in LANES, kind


def test_a_task_reaches_the_part_that_carries_it_out() -> None:
    sinks, ingest = Stub(), Stub()
    carrying_out = performer(ingest, sinks)
    delivery, closing = t.Deliver(1, "q", "parquet", ()), t.CloseSink(1, "q")
    carrying_out.perform(delivery)
    carrying_out.perform(closing)
    carrying_out.perform(t.StoreDeadLetters("s", ((3, ["letter"]), (4, ["other"]))))
    assert sinks.calls == [("deliver", delivery), ("close_sink", closing)]
    assert ingest.calls == [("keep_committed", 3, "s", ["letter"]), ("keep_committed", 4, "s", ["other"])]
    assert carrying_out.perform(t.RestartSpark()) == {}


def test_maintenance_tells_the_evaluator_which_layouts_there_are() -> None:
    evaluator, layout = Stub(), Stub()
    parts: list[Any] = [evaluator, SimpleNamespace(commits=Stub()), Stub(), Stub(), Stub(), dict, str]
    Performer(*parts).perform(t.Maintain(3, layouts=(layout,)))
    ((name, layouts),) = evaluator.calls
    assert (name, list(layouts)) == ("keep_only", [layout])


@pytest.mark.parametrize("error", [HeadgateError("no such stream"), OSError("disk full")])
def test_errors_that_people_understand_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        performer(ingest=Stub(error)).perform(t.OpenStream(Stream(name="s")))
    assert raised.value is error


def test_other_errors_become_one_line_of_text() -> None:
    with pytest.raises(HeadgateError) as raised:
        performer(ingest=Stub(ValueError("first line\nsecond line"))).perform(t.OpenStream(Stream(name="s")))
    assert "first line" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_dead_spark_is_the_cause_of_tasks_that_use_it_and_of_no_others() -> None:
    evaluator = Stub()
    evaluator.java.dead = True
    error = OSError("connection lost")
    with pytest.raises(SparkGoneError):
        performer(ingest=Stub(error), evaluator=evaluator).perform(t.OpenStream(Stream(name="s")))
    with pytest.raises(OSError, match="connection lost"):
        performer(ingest=Stub(error), evaluator=evaluator).perform(t.StoreDeadLetters("s", ((3, []),)))
