"""The status as tenants see it: their own queries, streams and sums, and nothing of anybody else."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headgate.model import Query, QueryClass, Select, Source
from headgate.server.hosting import EngineState, EngineStatus
from headgate.server.live.numbers import query_numbers
from headgate.server.live.response_times import TimesCache
from headgate.server.live.snapshots import STALE, YOUNG, Snapshot, Snapshots
from headgate.server.merge_patch import applied, difference
from headgate.server.workspace.names import Names
from headgate.server.workspace.status import only_clocks, status_json
from headgate.spark.machine.recent_results import Committed
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.machine.worker_load import Load
from headgate.spark.store.disk_watch import DiskStatus

READY = EngineStatus(EngineState.READY, "reads /secret/rival..data")


def view(name: str, query_class: str, out: int, error: str = "") -> QueryView:
    results = Committed(np.full(out, 995.0), np.full(out, 0.5))
    return QueryView(
        query=Query(name=name, query_class=query_class, plan=Select(inputs=(Source("s"),))),
        columns=None,
        priority=1.0,
        state="running",
        error=error,
        waiting=out,
        oldest_wait=1.0,
        runs=1,
        jobs=1,
        tuples_in=out,
        tuples_out=out,
        rate=1.0,
        late=0,
        skipped=0,
        undelivered=0,
        recent=(results,) if out else (),
        classes=(),
    )


LOAD = Load(0.75, 12.34, 3, {("acme", "low"): 0.25, ("rival", "low"): 0.375, ("", "high"): 0.1}, workers=2)
DISK = DiskStatus(123_456_789, True, "/secret/rival: cannot write: No space left on device")


def snapshot(*views: QueryView) -> Snapshot:
    overview = Overview(
        policy="express",
        policy_error="rival..policy",
        spark_error="",
        runs=77,
        jobs=77,
        decided=77,
        classes={"high": QueryClass("high", 10.0), "low": QueryClass("low", 1.0)},
        queries=views,
        doing=("rival..hot: 5 tuples", ""),
        newest=(),
        load=LOAD,
    )
    cache = TimesCache()
    queries = {one.query.name: query_numbers(one, cache, 1000.0, 0) for one in views}
    streams: dict[str, dict[str, Any]] = {
        "acme..readings": {"tuples": 5, "note": "stream 'acme..readings' waits"},
        "rival..readings": {"tuples": 9},
    }
    return Snapshot(1, 1000.0, 10.0, 77, overview, queries, streams, DISK)


BOTH = snapshot(
    view("acme..hot", "low", 3, "column of 'acme..readings' is gone"),
    view("rival..hot", "low", 4),
    view("b", "high", 5),
)


def test_a_tenant_sees_its_own_alone() -> None:
    status = status_json(READY, BOTH, Names("acme"))
    assert list(status["queries"]) == ["hot"]
    assert status["queries"]["hot"]["error"] == "column of 'readings' is gone"
    assert status["streams"] == {"readings": {"tuples": 5, "note": "stream 'readings' waits"}}
    assert (status["load"], status["disk"]) == ({"running": 0.25}, {"full": True})
    assert status["classes"]["low"]["load"] == 0.25
    assert status["classes"].keys() == {"low"}
    assert (status["classes"]["low"]["tuples_out"], status["classes"]["low"]["queries"]) == (3, 1)
    assert status["classes"]["low"]["latency"]["last_10_s"]["count"] == 3
    text = json.dumps(status)
    assert "rival" not in text
    assert ".." not in text
    assert "77" not in text
    assert "workers" not in status


def test_without_a_tenant_everything_is_seen() -> None:
    status = status_json(READY, BOTH, Names())
    assert list(status["queries"]) == ["acme..hot", "b", "rival..hot"]
    assert list(status["classes"]) == ["high", "low"]
    assert (status["runs"], status["workers"][0]) == (77, "rival..hot: 5 tuples")
    assert status["classes"]["low"]["tuples_out"] == 7
    assert status["load"] == {
        "workers": 2,
        "running": 0.75,
        "idle": 0.25,
        "queued": 3,
        "decisions_per_second": 12.3,
    }
    assert [line["load"] for line in status["classes"].values()] == [0.1, 0.62]
    assert status["disk"] == {"free": 123_000_000, "full": True, "error": DISK.error}


def test_commits_and_stalled_queries_are_told() -> None:
    fresh, fine = view("fresh", "low", 1), replace(view("fine", "low", 1), last_commit=999.0, usual_gap=1.0)
    stuck = replace(fine, query=replace(fine.query, name="stuck"), last_commit=950.0, owes_since=960.25)
    begun = replace(fresh, query=replace(fresh.query, name="begun"), backfill=(10, 40))
    queries = status_json(READY, snapshot(fresh, fine, stuck, begun), Names())["queries"]
    assert not {"last_commit", "stalled", "backfill"} & queries["fresh"].keys()
    assert (queries["fine"]["last_commit"], "stalled" in queries["fine"]) == (999.0, False)
    assert queries["stuck"]["stalled"] == 39
    assert queries["begun"]["backfill"] == {"read": 10, "of": 40}


def test_the_slowest_reader_of_a_stream_is_one_of_the_tenants_own() -> None:
    def reader(name: str, waiting: int, **by_stream: tuple[int, float]) -> QueryView:
        read = Select(inputs=(Source("acme..readings"),))
        plain = view(name, "low", waiting)
        return replace(plain, query=replace(plain.query, plan=read), by_stream={"acme..readings": (4, 2.5)} | by_stream)

    taken = snapshot(reader("acme..hot", 4), reader("operators", 9, **{"acme..readings": (9, 9.0)}))
    own = status_json(READY, taken, Names("acme"))["streams"]["readings"]["lag"]
    assert own == {"query": "hot", "tuples": 4, "oldest_wait": 2.5}
    everybodys = status_json(READY, taken, Names())["streams"]
    assert everybodys["acme..readings"]["lag"]["query"] == "operators"
    assert "lag" not in everybodys["rival..readings"]


def test_the_status_has_no_nulls() -> None:
    def nulls(value: Any) -> bool:
        return value is None or (isinstance(value, dict) and any(map(nulls, value.values())))

    assert not nulls(status_json(READY, BOTH, Names()))
    assert not nulls(status_json(READY, BOTH, Names("acme")))


def test_what_was_made_of_a_snapshot_is_made_once_for_each_tenant() -> None:
    taken = snapshot(view("acme..hot", "low", 1))
    first, second = (status_json(READY, taken, Names("acme")) for _ in range(2))
    assert first["queries"] is second["queries"]
    assert status_json(READY, taken, Names("rival"))["queries"] == {}


def test_changes_of_one_tenant_are_none_for_another() -> None:
    before, after = (
        snapshot(view("acme..hot", "low", 3)),
        snapshot(view("acme..hot", "low", 3), view("rival..x", "low", 9)),
    )
    for names, changed in ((Names("acme"), False), (Names("rival"), True), (Names(), True)):
        old, new = status_json(READY, before, names), status_json(READY, after, names)
        patch = difference(old, new)
        assert applied(patch, old) == new
        assert only_clocks(patch) is not changed


def test_an_engine_that_starts_has_a_status() -> None:
    starting = EngineStatus(EngineState.STARTING, "starts Spark", 1.5)
    assert status_json(starting, None, Names()) == {
        "engine": {"state": "starting", "detail": "starts Spark", "seconds": 1.5}
    }
    assert status_json(starting, None, Names("acme"))["engine"]["detail"] == ""


class Engine:
    """An engine that counts how often it is looked at."""

    def __init__(self) -> None:
        self.looks = 0
        self.streams: dict[str, object] = {}
        self.ingest = SimpleNamespace(letters={})
        self.runner = SimpleNamespace(jobs=0)
        self.disk = SimpleNamespace(look=DiskStatus)

    def now(self) -> float:
        return 1000.0

    def overview(self) -> Overview:
        self.looks += 1
        return BOTH.overview


def test_a_snapshot_serves_many_and_is_made_anew_after_a_command() -> None:
    engine = Engine()
    snapshots = Snapshots(SimpleNamespace(engine=engine))  # type: ignore[arg-type]
    first = snapshots.current()
    assert first is snapshots.current()
    snapshots.changed()
    second = snapshots.current()
    assert (second is first, engine.looks) == (False, 2)
    assert second.page("list", lambda: b"made") == second.page("list", lambda: b"again") == b"made"


def test_a_snapshot_is_given_out_while_the_next_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, clock = Engine(), [0.0]
    monkeypatch.setattr("headgate.server.live.snapshots.time", SimpleNamespace(monotonic=lambda: clock[0]))
    snapshots = Snapshots(SimpleNamespace(engine=engine))  # type: ignore[arg-type]
    first = snapshots.current()
    clock[0] = YOUNG + 0.1
    assert snapshots.current() is first
    for thread in threading.enumerate():
        if thread.name == "headgate-snapshot":
            thread.join()
    assert (snapshots.current() is first, engine.looks) == (False, 2)
    clock[0] += YOUNG + STALE + 0.1
    snapshots.current()
    assert engine.looks == 3
