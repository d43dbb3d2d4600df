"""What-if as a call, as a server makes it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.what_if.engine_history import SECONDS, engine_history

from headgate.history.history import History
from headgate.history.records import Arrivals, Record
from headgate.history.ring import FOLDER, HistoryRing
from headgate.model import HeadgateError
from headgate.what_if.added import ClassEffect
from headgate.what_if.ask import AddedQuery, Question, ask, ask_added, learn
from headgate.what_if.latest import latest
from headgate.what_if.learned import Learned

ADDED = "SELECT k FROM s WHERE v > 8"
ADAPTIVE = "adaptive, candidates=[fcfs, mbd], warmup=0s, explore=1s, every=1s"


@cache
def learned() -> Learned:
    return learn(engine_history())


def adaptive_history() -> History:
    history = engine_history()
    (setting,) = history.settings
    history.settings = [type(setting)(setting.at, setting.origin, {**setting.header, "policy": ADAPTIVE})]
    return history


def test_it_is_what_the_command_prints() -> None:
    tree = ask(learned(), Question(("mbd", "fcfs"), by="high.p95"))
    assert json.loads(json.dumps(tree)) == tree
    assert set(tree) == {"recorded", "replayed", "error", "policies", "by", "ranking", "failed"}
    assert set(tree["policies"]) == {"mbd", "fcfs"}
    assert tree["failed"] == {}


def test_it_imports_no_spark() -> None:
    check = (
        "import sys, headgate.what_if.ask; sys.exit(any(name in sys.modules for name in ('pyspark', 'typer', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_directory_is_read(tmp_path: Path) -> None:
    history = engine_history()
    ring = HistoryRing(tmp_path / FOLDER)
    arrivals = [Arrivals(0.0, stream, tuple(chunks)) for stream, chunks in history.arrivals.items()]
    records: list[Record] = [*history.settings, *arrivals, *history.runs]
    for record in records:
        ring.write(record)
    ring.flush()  # it is being written
    assert ask(tmp_path, Question(("mbd",))) == ask(history, Question(("mbd",)))
    ring.close()


def test_policies_that_cannot_be_replayed_are_told_with_why() -> None:
    tree = ask(learned(), Question(("fifo", "mbd")))
    assert set(tree["policies"]) == {"mbd"}
    assert "schedules operators" in tree["failed"]["fifo"]


def test_an_added_query_tells_whom_it_slows_down() -> None:
    found = ask_added(learned(), ADDED, "high", "warm")
    assert set(found["queries"]) == {"warm"}
    assert found["queries"]["warm"]["results"] > 0
    assert set(found["classes"]) == {"high", "low"}
    for effect in found["classes"].values():
        assert effect["change"] == pytest.approx(effect["with"] / effect["without"] - 1)
        assert effect["error"] is not None
    assert found["slower"] == [] or found["slower"][0] in found["classes"]
    heavy = ask(learned(), Question(added=tuple(AddedQuery(ADDED, "high", f"q{n}") for n in range(12)), fuse="off"))
    assert "added" not in heavy  # something else is different as well
    many = ask(learned(), Question(added=tuple(AddedQuery(ADDED, "high", f"q{n}") for n in range(12))))["added"]
    assert "low" in many["slower"]
    assert many["text"].startswith("With q0 and q1 and ")
    assert "low by" in many["text"]


@pytest.mark.parametrize(
    ("without", "beside", "error", "slower"),
    [
        (1.0, 1.2, 0.1, True),
        (1.0, 1.2, 0.3, False),
        (1.0, 1.04, 0.0, False),
        (1.0, 0.5, 0.1, False),
        (None, 1.0, 0.1, False),
    ],
)
def test_a_class_is_slower_beyond_the_error(without: float | None, beside: float, error: float, slower: bool) -> None:
    assert ClassEffect(without, beside, error).slower == slower


def test_regret_of_a_recorded_adaptive_policy() -> None:
    tree = ask(adaptive_history(), Question(by="mean"))
    ((policy, found),) = tree["regret"].items()
    assert policy.startswith("adaptive")
    values = {name: told["overall"]["response_time"]["mean"] for name, told in tree["policies"].items()}
    assert set(values) == {policy, "fcfs", "mbd"}
    assert found["best_value"] == min(values["fcfs"], values["mbd"]) == values[found["best"]]
    assert found["regret"] == pytest.approx(values[policy] - found["best_value"])
    assert found["within_error"] in (True, False)
    assert "regret" not in ask(adaptive_history(), Question(("fcfs",)))


def test_only_the_last_seconds() -> None:
    history = engine_history()
    short = latest(history, 4.0)
    assert latest(history, None) is history
    assert latest(history, 10 * SECONDS) is history
    assert short.settings == history.settings
    assert min(run.began for run in short.runs) >= history.ended - 4.0
    assert (
        0
        < ask(history, Question(("mbd",)), last=4.0)["recorded"]["overall"]["results"]
        < (ask(history, Question(("mbd",)))["recorded"]["overall"]["results"] / 2)
    )


WRONG = {
    "unknown policy 'mbdd'": Question(("mbdd",)),
    "unknown class 'hihg'": Question(priorities={"hihg": 3.0}),
    "--priority wants a class and a number above 0": Question(priorities={"high": -3.0}),
    "--workers must be at least 1": Question(workers=0),
    "--rate must be above 0": Question(rate=-1.0),
    "unknown value for --fuse 'some'": Question(fuse="some"),
    "unknown measure 'p99'": Question(("mbd",), by="p99"),
    "nothing is to be different": Question(),
    "no recorded or given policy is adaptive": Question(("mbd",), regret=True),
    "unknown stream": Question(added=(AddedQuery("SELECT k FROM nowhere", "high"),)),
    "the class of query 'added' is not said": Question(added=(AddedQuery(ADDED),)),
    "query 'hot' was recorded already": Question(added=(AddedQuery(ADDED, "high", "hot"),)),
    "the query's name 'a/b' is not a name": Question(added=(AddedQuery(ADDED, "high", "a/b"),)),
    "query 'added' is added twice": Question(added=(AddedQuery(ADDED, "high"),) * 2),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_asked_is_refused_in_one_line(message: str) -> None:
    with pytest.raises(HeadgateError) as refused:
        ask(learned(), WRONG[message])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_histories_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="there is no history here"):
        ask(tmp_path, Question(("mbd",)))
    with pytest.raises(HeadgateError, match="nothing has run yet"):
        ask(History(), Question(("mbd",)))
    with pytest.raises(HeadgateError, match="write a time above 0"):
        ask(engine_history(), Question(("mbd",)), last=-1.0)
    quiet = engine_history()
    quiet.arrivals = {stream: chunks[:-40] for stream, chunks in quiet.arrivals.items()}
    with pytest.raises(HeadgateError, match=r"nothing came in the last 0\.5 s that were recorded; ask for a longer"):
        ask(quiet, Question(("mbd",)), last=0.5)
    with pytest.raises(HeadgateError, match="too few runs"):
        ask(engine_history(), Question(("mbd",)), last=0.5)


def test_damaged_records_are_refused_in_one_line() -> None:
    history = engine_history()
    history.runs[5] = replace(history.runs[5], evaluated=None)  # type: ignore[arg-type]
    with pytest.raises(HeadgateError, match=r"its records cannot be read: TypeError.*; record it again"):
        learn(history)
