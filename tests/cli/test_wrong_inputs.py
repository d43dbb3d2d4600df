"""Every wrong input: one line on stderr that says what was found and what to do, and exit 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Headgate

WRONG = {
    "simulate none.toml": "none.toml: no such file",
    "simulate folder": "is a directory",
    "simulate bad.toml": "is not TOML",
    "simulate two.toml --policy hnrr": "unknown policy 'hnrr'; did you mean 'hnr'",
    "simulate two.toml --policy hnr,trian=2": "unknown setting 'trian' of 'hnr'; did you mean 'train'?",
    "simulate two.toml --policy hnr,level": "'level' in 'hnr,level' is not a setting; write setting=value",
    "simulate two.toml --plot p.gif": "--plot cannot write 'p.gif'; use a name that ends in .png or .svg or .pdf",
    "simulate two.toml --plot gone/p.png": "there is no folder 'gone'",
    "simulate two.toml --records r.txt": "use a name that ends in .parquet or .csv",
    "simulate two.toml --record gone/t.jsonl": "there is no folder 'gone'",
    "simulate two.toml --record folder": "--record may not write 'folder'",
    "simulate two.toml --duration 10": '--duration has no unit, found 10; write "10 s" or "10 ms"',
    "simulate two.toml --duration 10parsecs": "unknown unit 'parsecs'",
    "simulate two.toml --duration=-1s": "--duration must be longer than 0 s, found -1s",
    "simulate two.toml --bin 0": "--bin must be more than 0 seconds, found 0",
    "simulate two.toml --fuse some": "unknown value for --fuse 'some'; known: all, class, off",
    "simulate two.toml --seed -1": "--seed must be at least 0, found -1; write for example 1",
    "simulate fast.toml": "fast.toml: stream 's': 10,000,000,000,000 tuples would arrive",
    "simulate busy.toml": "busy.toml: the run would last 10,000,000,000 s: 100,000,000,000 bins of 0.1 s",
    "simulate two.toml --bin 1e-12": "give a longer --bin",
    "compare fast.toml": "fast.toml: stream 's': 10,000,000,000,000 tuples would arrive",
    "compare busy.toml": "lower the load, the costs or the duration, set drain = false, or give a longer --bin",
    "compare none.toml": "none.toml: no such file",
    "compare two.toml --by slowdown.men": "unknown measure 'slowdown.men'; did you mean 'slowdown.mean'",
    "compare two.toml --by classes.criticl.response_time.p95": "did you mean 'classes.critical.response_time.p95'",
    "compare two.toml --by classes.critical.unfinished": "unknown measure 'classes.critical.unfinished'",
    "compare two.toml --policy hnrr": "unknown policy 'hnrr'",
    "compare two.toml --jobs 0": "--jobs must be at least 1, found 0",
    "sweep none.toml --vary load=0.5": "none.toml: no such file",
    "sweep two.toml --vary load": "--vary cannot read 'load'; write load=0.5:1.0:0.05 or cores=1,2,4",
    "sweep two.toml --vary laod=1": "unknown setting to vary 'laod'; did you mean 'load'?",
    "sweep two.toml --vary load=1:0.5:0.1": "--vary load=1:0.5:0.1 has no values; let it rise",
    "sweep two.toml --vary load=0:1": "--vary load cannot read '0:1'; write low:high:step, as 0.5:1.0:0.05",
    "sweep two.toml --vary load=0,1": "--vary load must be a number above 0, found 0",
    "sweep two.toml --vary cores=1.5": "--vary cores must be a whole number of at least 1, found 1.5",
    "sweep two.toml --vary load=0:1:0.00001": "more than 10000; take larger steps",
    "sweep two.toml --vary load=1 --vary load=2": "--vary load is given twice; write all of its values in one",
    "sweep two.toml --vary seed=1,2 --seeds 2": "--seeds and --vary seed both say which seeds; keep one of them",
    "sweep two.toml --vary load=1 --seeds 0": "--seeds must be at least 1, found 0",
    "sweep two.toml --vary rate=100": "--vary rate: stream 's' has no rate; give it arrivals with a rate",
    "sweep two.toml --vary policy.clusters=4 -p hnr": "unknown setting 'clusters' of 'hnr'",
    "sweep two.toml --vary policy.clusters=-1 -p bsd": "clusters must be a whole number of at least 0, found -1",
    "sweep two.toml --vary policy.clusters=4 -p bsd,clusters=2": "both set clusters; keep one of them",
    "sweep two.toml --vary load=1 -m slowdown.men": "unknown measure 'slowdown.men'; did you mean 'slowdown.mean'",
    "sweep two.toml --vary load=1 --out two.toml": "--out: 'two.toml' is not a folder; choose another one",
    "sweep slow.toml --vary rate=1,1e12": "stream 's': 10,000,000,000,000 tuples would arrive",
    "sweep slow.toml --vary load=1,1e9": "the run would last 10,000,000,000 s",
    "sweep slow.toml --vary cores=1e9": "--vary cores must be a whole number of at most 10000, found 1000000000.0",
    "fresh simulate pages.csv -b 1 --seed -1": "--seed must be at least 0, found -1",
    "fresh plan pages.csv -b 1e300": "bandwidth must be at most 1e+100, found 1e+300",
    "explain two.toml --stage netwrk": "unknown stage 'netwrk'; did you mean 'network'?",
    "explain two.toml --stage units --level quer": "unknown level 'quer'; did you mean 'query'?",
    "explain two.toml --stage units --level path --fuse all": "--fuse all groups whole queries, found --level path",
    "explain two.toml --query q9": "unknown query 'q9'",
    "policies show hnnr": "unknown policy 'hnnr'; did you mean 'hnr'",
    "replay none.jsonl": "cannot use 'none.jsonl': no such file or directory; check the path",
    "replay two.toml": "two.toml: line 1: this is not a line of a trace",
    "replay bytes": "bytes: this is not a trace",
    "why two.toml --decision 1": "two.toml: line 1: this is not a line of a trace",
    "why two.toml --decision 0": "decisions are counted from 1, found 0",
    "why q1 two.toml --decision 1": "--decision asks about no query, found 'q1'",
    "why q1 two.toml": "two.toml: line 1: this is not a line of a trace",
    "why q1 two.toml --at 3": '--at has no unit, found 3; write "3 s" or "3 ms"',
    "why q1 two.toml --at=-3s": "--at must not be before the start, found -3s",
    "why q1 two.toml --worst --last": "--worst and --last exclude each other; keep one of them",
    "why q1 two.toml --equal": "--equal belongs to --inversions",
    "why q1": "one argument is missing; write headgate why QUERY q1",
    "why q1 none": "cannot use 'none': no such file or directory; check the path",
    "why q1 folder": "folder: there is no history here",
    "why q1 other.jsonl": "other.jsonl: this is not a trace of this version; record one with --record t.jsonl",
    "why q1 bytes": "bytes: this is not a trace",
    "trace show two.toml": "two.toml: line 1: this is not a line of a trace",
    "trace show folder": "folder: there is no history here",
    "trace show two.toml --plot p.gif": "--plot cannot write 'p.gif'",
}

SLOW = """
[workload]
duration = "10 s"

[[stream]]
name = "s"
arrivals = "poisson, rate=100"

[[query]]
name = "q"
from = "s"
operators = ["select, cost=1ms"]
"""


@pytest.fixture
def folder(tmp_path: Path, two: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.toml").write_text(two.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "bad.toml").write_text("[workload\n", encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\x80")
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.jsonl").write_text('{"trace": 99}\n', encoding="utf-8")
    (tmp_path / "slow.toml").write_text(SLOW, encoding="utf-8")
    (tmp_path / "fast.toml").write_text(SLOW.replace("rate=100", "rate=1e12"), encoding="utf-8")
    (tmp_path / "busy.toml").write_text(SLOW.replace("[workload]", "[workload]\nload = 1e9"), encoding="utf-8")
    (tmp_path / "pages.csv").write_text("id,change_rate,access\na,1,1\nb,2,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", WRONG)
def test_wrong_input(headgate: Headgate, command: str) -> None:
    result = headgate(*command.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("headgate: ")
    assert result.stderr.count("\n") == 1
    assert WRONG[command] in result.stderr


@pytest.mark.parametrize(
    "command", ["simulat x.toml", "simulate", "simulate x.toml --polcy hr", "why x.jsonl --decision one"]
)
def test_wrong_usage(headgate: Headgate, command: str) -> None:
    result = headgate(*command.split(), columns=100)
    assert result.exit_code == 2
    assert "Error" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_decision_that_is_not_there(headgate: Headgate) -> None:
    headgate("simulate", "two.toml", "-p", "hr", "--record", "t.jsonl")
    result = headgate("why", "t.jsonl", "--decision", "7")
    assert result.exit_code == 2
    assert "t.jsonl: there is no decision 7; the trace has 6, counted from 1" in result.stderr
