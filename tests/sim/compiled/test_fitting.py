"""What compiled code is asked to simulate, and what goes through the general simulator."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sim.builders import workload

from headgate.model import HeadgateError
from headgate.sim import compiled, simulate
from headgate.sim.compiled import code_cache, fitting
from headgate.workload import Workload, read_workload

ROOT = Path(__file__).parents[3]


def refusal(given: Workload, policy: str) -> str:
    with pytest.raises(HeadgateError) as refused:
        simulate(given, policy, path="compiled")
    return str(refused.value)


@pytest.mark.parametrize(
    ("policy", "settings", "reason"),
    [
        ("random", {}, "policy random"),
        ("hnr, schedule=3", {}, "setting schedule of hnr"),
        ("bsd, clusters=4", {}, "setting clusters of bsd"),
        ("hr, level=path", {}, "units of level path"),
        ("wrr", {}, "policy wrr"),
        ("rr, quantum=10ms", {}, "setting quantum of rr"),
        (
            "fcfs",
            {"queries": {"q": {"from": ["s", "s"], "operators": ["join, tuples=3"]}}},
            "tuples of given",
        ),
        ("fcfs", {"statistics": "measured"}, "learned statistics"),
        ("fcfs", {"decision_cost": "1 us"}, "decision cost"),
        ("fcfs", {"fuse": "all"}, "fused queries"),
        ("fcfs", {"changes": [{"at": "1 s", "stream": "s", "rate": 20}]}, "changes"),
        ("fcfs", {"queries": {"q": {"operators": ["select"], "start": "2 s"}}}, "queries that start or end"),
        (
            "fcfs",
            {"source_cores": 0, "streams": {"s": {"arrivals": "constant, rate=5", "source_cost": "1 ms"}}},
            "sources as units",
        ),
    ],
)
def test_what_is_not_known_is_refused_with_a_reason(policy: str, settings: dict[str, Any], reason: str) -> None:
    given = workload(settings.pop("queries", {"q": "select, cost=1ms"}), **settings)
    assert reason in refusal(given, policy)
    assert simulate(given, policy).path == "general"


def test_recorded_decisions_come_from_the_real_scheduler() -> None:
    given = workload({"q": "select, cost=1ms"})
    text = io.StringIO()
    assert simulate(given, "fcfs", trace=text).path == "general"
    assert text.getvalue()
    with pytest.raises(HeadgateError, match="decisions are recorded"):
        simulate(given, "fcfs", trace=text, path="compiled")


def test_without_numba_the_general_simulator_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "find_spec", lambda name: None)
    given = workload({"q": "select, cost=1ms"})
    assert "numba is not installed" in refusal(given, "fcfs")
    assert simulate(given, "fcfs").path == "general"


@pytest.mark.slow
def test_short_simulations_do_not_wait_for_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    given = workload({"q": "select, cost=1ms"})
    monkeypatch.setattr(compiled, "worth_it", lambda: 1000.0)
    assert compiled.new_simulation(given, "fcfs", bin=0.1) == "it is short"
    monkeypatch.setattr(compiled, "worth_it", lambda: 100.0)
    assert simulate(given, "fcfs").path == "compiled"


def test_executions_are_tuples_times_readers() -> None:
    reading = {"a": "select", "b": "select", "both": {"from": ["s", "s"], "operators": ["join, window=1s"]}}
    assert compiled.expected_executions(workload(reading, "constant, rate=10")) == pytest.approx(400)


@pytest.mark.slow
def test_the_documents_workloads_are_covered() -> None:
    for file in [ROOT / "workloads/sharaf.toml", *sorted(ROOT.glob("workloads/almoakar-*.toml"))]:
        given = read_workload(file)
        given = replace(given, duration=given.duration / 50)
        for policy in ("mbd, inversion=dsp", "cqc", "hnr"):
            attempt = compiled.new_simulation(given, policy, bin=0.1, whatever=True)
            uncovered = given.changes or given.reads  # sources as units
            assert not isinstance(attempt, str) or uncovered, f"{file.name} under {policy}: {attempt}"


def test_compiled_code_is_kept_where_only_the_user_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = code_cache.cache_directory.__wrapped__
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    directory = find()
    assert directory is not None
    assert directory.parent == tmp_path / "chosen"
    directory.chmod(0o777)  # somebody else could put code there
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert find() == tmp_path / "cache" / directory.name


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(code_cache, "_parents", lambda: iter([blocked]))
    assert code_cache.cache_directory.__wrapped__() is None
