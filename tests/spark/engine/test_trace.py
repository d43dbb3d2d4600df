"""What the engine's scheduler did can be repeated call by call."""

from __future__ import annotations

from random import Random

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import CASES, PATIENCE, batches, declare, start

from headgate.core import replay_trace


def test_a_recorded_run_replays_without_differences(opened: Open) -> None:
    lines: list[str] = []
    session = opened(policy="random, train=7", workers=2, record=lines.append)
    declare(session, ("a", "b"))
    handles = start(session, [CASES[name] for name in ("filter", "tumbling", "join")])
    for number, (stream, rows) in enumerate(batches(Random(4), ("a", "b"))):
        session.append(stream, rows)
        if number == 2:
            handles["filter"].pause()
            session.set_policy("bsd")
            session.set_priority("low", 20.0)
        if number == 4:
            handles["filter"].resume()
            handles["join"].move("high")
            session.set_policy("mbd, inversion=dsp", "all")
        if number == 6:
            session.set_policy("random, level=operator")
    for stream in ("a", "b"):
        session.finish(stream)
    assert session.drain(PATIENCE)
    handles["tumbling"].stop()
    session.close()
    done = replay_trace(lines)
    assert done.differences == []
    assert done.runs == session.engine.overview().decided > 0
    assert done.calls == len(lines) - 1


def test_runs_are_in_the_log_at_its_finest_level(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "headgate.engine")
    session = opened()
    session.stream("s", "id bigint")
    session.query("copy", "SELECT id FROM s")
    session.append("s", [{"id": 1}, {"id": 2}])
    assert session.drain(PATIENCE)
    session.close()
    (line,) = (record.getMessage() for record in caplog.records if "run ended" in record.getMessage())
    assert line.startswith("run ended run=1 queries=1 tuples=2 seconds=")
