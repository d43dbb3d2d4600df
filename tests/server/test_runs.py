"""Runs and decisions as the API lists them: each run once, whoever asks how often; a tenant's are its own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.insight.histories import run, setting, start

from headgate.history.records import Delivery, Record
from headgate.history.ring import FOLDER, HistoryRing
from headgate.model import HeadgateError, WaitingUnit, Why
from headgate.server.histories import Histories
from headgate.server.problems import NotFoundError
from headgate.server.workspace.insight import Insight
from headgate.server.workspace.names import Names
from headgate.server.workspace.runs import Runs

CLASSES = {"acme..a": "critical", "acme..b": "critical", "rival..x": "background"}
NOW = 1000.0


def asking(directory: Path, tenant: str = "", histories: Histories | None = None, now: float = NOW) -> Runs:
    session: Any = SimpleNamespace(directory=directory, engine=SimpleNamespace(now=lambda: now))
    return Runs(session, Names(tenant), histories or Histories())


def ring(directory: Path, *records: Record) -> HistoryRing:
    made = HistoryRing(directory / FOLDER)
    for record in (setting(CLASSES, workers=2), *records):
        made.write(record)
    made.flush()
    return made


def why(*waiting: str) -> Why:
    units = tuple(WaitingUnit(name, CLASSES[name], (name,), 7, 985.0, {"score": float("inf")}) for name in waiting)
    return Why("hnr", "highest", "u", {"score": 1.0}, waiting[0], {"score": 0.5}, "its turn", units)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.0, 1.0]), st.sampled_from(sorted(CLASSES)), st.booleans())))
def test_each_run_is_told_once_and_in_the_order_of_their_ends(made: list[tuple[float, str, bool]]) -> None:
    with TemporaryDirectory() as folder:
        directory, histories, now = Path(folder), Histories(), 950.0
        written = ring(directory)
        for tenant in ("", "acme"):
            runs, after, told = asking(directory, tenant, histories), None, list[int]()
            expected: list[int] = []
            if tenant:  # a second one who asks begins where the first has ended
                after, now = runs.listed(60.0, None)["next"], now + 1.0
            for number, (pause, query, asks) in enumerate(made, start=1):
                now += pause
                record = run(number + 1000 * bool(tenant), query, now - 0.5, now)
                written.write(record)
                written.flush()
                if runs.names.has(query):
                    expected.append(histories.number(record.id, runs.names))
                if asks:
                    page = runs.listed(600.0, after)
                    told, after = told + [one["id"] for one in page["runs"]], page["next"]
            told += [one["id"] for one in runs.listed(600.0, after)["runs"]]
            assert told == expected
        written.close()


def test_a_run_tells_what_the_timeline_draws(tmp_path: Path) -> None:
    group = run(7, "acme..a acme..b", 990.0, 991.0, 991.5, query_class="critical", worker=1, tuples=353, oldest=989.25)
    failed = replace(run(8, "rival..x", 991.0, 992.0), error="it broke")
    records: list[Record] = [
        group,
        failed,
        run(9, "rival..x", 992.0, 993.0, cancelled=True),
        start(10, "rival..x", 993.5),
    ]
    written = ring(tmp_path, *records)
    told = asking(tmp_path).listed(60.0, None)
    assert told["runs"][0] == {
        "id": 7, "worker": 1, "class": "critical", "unit": "acme..a+acme..b", "members": 2, "tuples": 353,
        "oldest": 989.25, "began": 990.0, "evaluated": 991.0, "ended": 991.5, "state": "done",
    }  # fmt: skip
    assert [one["state"] for one in told["runs"]] == ["done", "failed", "cancelled"]
    assert [(one["id"], one["state"], "ended" in one) for one in told["running"]] == [(10, "running", False)]
    assert (told["at"], told["from"], told["workers"], told["started"]) == (NOW, 990.0, 2, 0.0)
    assert [one["id"] for one in asking(tmp_path).listed(8.2, None)["runs"]] == [8, 9]
    written.close()


def test_what_an_engine_did_before_it_died_is_told_until_something_has_run(tmp_path: Path) -> None:
    ring(tmp_path, run(1, "acme..a", 990.0, 991.0), start(2, "acme..b", 990.5)).close()
    histories = Histories()
    told = asking(tmp_path, histories=histories).listed(60.0, None)
    assert [(one["id"], one["state"], one["ended"]) for one in told["runs"]] == [
        (1, "done", 991.0),
        (2, "unfinished", 991.0),
    ]
    assert asking(tmp_path, histories=histories).listed(60.0, told["next"])["runs"] == []
    second = HistoryRing(tmp_path / FOLDER)
    second.write(replace(setting(CLASSES), at=995.0, origin=995.0))
    second.write(run(1, "acme..a", 996.0, 997.0))
    second.flush()
    after = asking(tmp_path, histories=histories).listed(60.0, told["next"])  # numbers begin again, and so do runs
    assert ([one["began"] for one in after["runs"]], after["started"]) == ([996.0], 995.0)
    second.close()


def test_without_any_run_there_is_nothing_to_tell(tmp_path: Path) -> None:
    told = asking(tmp_path).listed(60.0, None)
    assert (told["runs"], told["running"]) == ([], [])
    assert asking(tmp_path).listed(60.0, told["next"])["runs"] == []
    assert asking(tmp_path).decisions(10, None) == {"items": [], "next": None}


def test_a_tenant_is_told_nothing_of_other_runs(tmp_path: Path) -> None:
    mixed = run(987654, "acme..a rival..x", 990.0, 991.0, tuples=44444, why=why("rival..x", "acme..b"))
    other = run(987655, "rival..x", 980.0, 991.0, worker=77777, tuples=33333)
    own = run(987656, "acme..b acme..a", 991.0, 992.0, query_class="critical", why=why("rival..x"))
    written = ring(tmp_path, mixed, other, own, start(987657, "rival..x", 992.0), start(987658, "acme..a", 992.0))
    histories = Histories()
    runs = asking(tmp_path, "acme", histories)
    listed = runs.listed(60.0, None)
    assert [one["unit"] for one in listed["runs"]] == ["a", "b…a (2 queries)"]
    assert [one["unit"] for one in listed["running"]] == ["a"]
    told = [listed, runs.decisions(10, None), *(runs.decision(one["id"], "run") for one in listed["runs"])]
    assert [one["queries"] for one in told[1]["items"]] == [["a"], ["b", "a"], ["a"]]
    assert [one["unit"] for one in told[2]["waiting"]] == ["b"]
    numbers = "|".join(str(histories.number(number, Names("acme"))) for number in range(987654, 987659))
    for part in told:
        text = re.sub(numbers, "", json.dumps(part))  # digits of them are random
        for marker in ("rival", "acme", "9876", "44444", "33333", "77777", "980", "985", "turn", "highest"):
            assert marker not in text, marker
    rival = histories.number(987655, Names("rival"))
    for number in (rival, 987655):
        with pytest.raises(NotFoundError):
            runs.decision(number, "run")
        with pytest.raises(NotFoundError):
            runs.decision(number, "decision")
    written.close()


def test_a_decision_is_told_in_words_with_who_waited(tmp_path: Path) -> None:
    chosen = run(5, "acme..a", 990.0, 991.0, oldest=988.0, why=why("rival..x", "acme..b"))
    written = ring(tmp_path, replace(chosen, decision=3), run(6, "acme..b", 991.0, 992.0))
    runs = asking(tmp_path)
    told = runs.decision(5, "run")
    assert told == runs.decision(3, "decision")
    (item,) = [one for one in runs.decisions(10, None)["items"] if one["run"] == 5]
    assert told.items() >= item.items()
    assert told["sentence"] == "decision 3 by hnr: u ran, by highest; its turn"
    assert told["waiting"][0] == {
        "unit": "rival..x", "class": "background", "queries": ["rival..x"], "tuples": 7, "waited": 5.0,
        "numbers": {"score": None},
    }  # fmt: skip
    assert (told["waited"], told["runner_up"]) == (2.0, "rival..x")
    assert runs.decision(6, "run")["sentence"] == "decision 6: acme..b ran; why is not recorded"
    with pytest.raises(NotFoundError, match="there is no run 99 in the record"):
        runs.decision(99, "run")
    written.close()


@pytest.mark.parametrize("tenant", ["", "acme"])
def test_pages_of_decisions_have_each_once(tmp_path: Path, tenant: str) -> None:
    made = [run(number, "acme..a", 900.0 + number // 3, 990.0 + number) for number in range(1, 9)]
    written = ring(tmp_path, *made)
    runs, after, told = asking(tmp_path, tenant), None, list[int]()
    while page := runs.decisions(2, after):
        told += [one["run"] for one in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert sorted(told) == sorted(runs.histories.number(one.id, runs.names) for one in made)
    assert len(told) == 8
    written.close()


def test_latencies_are_those_of_the_record_step_by_step(tmp_path: Path) -> None:
    runs = [run(number, "acme..a", 990.0 + number, 991.0 + number, answers={"acme..a": (989.0,)}) for number in (1, 2)]
    written = ring(tmp_path, *runs, run(3, "rival..x", 992.0, 996.0, answers={"rival..x": (900.0,)}))
    written.write(Delivery(994.0, "acme..a", 5))
    written.flush()
    session = asking(tmp_path).session
    told = Insight(session, Names("acme"), Histories()).latency("acme..a", over=15.0, step=5.0)
    assert (told["step"], told["at"], told["results"]) == (5.0, [990.0, 995.0, 1000.0], [0, 2, 0])
    assert (told["p50"], told["p95"], told["max"]) == ([None, 3.0, None], [None, 4.0, None], [None, 4.0, None])
    assert sum(part[1] for part in told["parts"].values()) == pytest.approx(told["mean"][1]) == pytest.approx(3.5)
    with pytest.raises(HeadgateError, match=r"600 s in steps of 0\.5 s are more than 600 steps"):
        Insight(session, Names(), Histories()).latency("acme..a", over=600.0, step=0.5)
    written.close()


@pytest.mark.parametrize("wrong", ["x", "WyJydW5zIl0", "WyJydW5zIiwxLDIsLTFd", "WyJkZWNpc2lvbnMiLDEsMl0"])
def test_a_cursor_that_was_not_given_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(HeadgateError, match="the cursor is"):
        asking(tmp_path).listed(60.0, wrong)
