"""Policies of the user's own, `--policy ./mine.py:Mine`: used where the user gives one, never because a file does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Headgate

from headgate.policies import registry

MINE = '''
from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.settings import Setting


class Mine(Linear):
    """Longest wait, or with sign=-1 the shortest."""

    rule = "longest wait"
    settings = (Setting("sign", 1, "1 or -1"),)

    def line(self, unit, stats):
        return 0.0, float(self.sign)


class Broken(Linear):
    def line(self, unit, stats):
        return 0.0, stats.cost(unit)


class Unfinished(Linear):
    pass


class NoPolicy:
    pass


class FailsAtFirst(Mine):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.table = {}["nothing"]


class Wants(Mine):
    needs = frozenset({"costt"})


class AnswersNothing(Mine):
    def choose(self, view, worker):
        return None
'''
TRAP = "from pathlib import Path\nPath('sprung').touch()\n" + MINE


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a file of policies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_simulated_with_settings_beside_others(headgate: Headgate, two: Path, here: Path) -> None:
    asked = ("-p", "./mine.py:Mine", "-p", "mine.py:Mine, sign=-1, level=operator", "-p", "fcfs")
    result = headgate("simulate", two, *asked, "--json")
    assert result.exit_code == 0, result.output
    reports = json.loads(result.stdout)["policies"]
    assert list(reports) == list(asked[1::2])
    assert reports["./mine.py:Mine"]["response_time"] == reports["fcfs"]["response_time"]


@pytest.mark.slow
def test_compared_in_processes_of_their_own(headgate: Headgate, two: Path, here: Path) -> None:
    result = headgate("compare", two, "-p", "./mine.py:Mine", "-p", "fcfs", "-p", "./mine.py:Broken", "--json")
    told = json.loads(result.stdout)
    assert {line["policy"] for line in told["ranking"]} == {"./mine.py:Mine", "fcfs"}
    assert "'cost' is read but not declared" in told["failed"]["./mine.py:Broken"]
    assert "(./mine.py:19, in line)" in told["failed"]["./mine.py:Broken"]


def test_shown(headgate: Headgate, here: Path) -> None:
    shown = json.loads(headgate("policies", "show", "./mine.py:Mine, sign=1", "--json").stdout)
    assert shown["description"] == "Longest wait, or with sign=-1 the shortest."
    assert shown["settings"][0]["name"] == "sign"
    assert headgate("policies", "show", "./mine.py:Broken").exit_code == 0  # without a docstring, rule and source


def test_among_the_candidates_of_another(headgate: Headgate, two: Path, here: Path) -> None:
    result = headgate("simulate", two, "-p", "adaptive, candidates=[fcfs, (./mine.py:Mine, sign=-1)]")
    assert result.exit_code == 0, result.output


def test_a_changed_file_is_read_again_and_may_import_what_is_beside(headgate: Headgate, here: Path) -> None:
    (here / "beside_mine.py").write_text("RULE = 'from beside'")
    (here / "mine.py").write_text(
        MINE.replace('"longest wait"', "RULE").replace("\n", "\nfrom beside_mine import RULE\n", 1)
    )
    assert "from beside" in headgate("policies", "show", "./mine.py:Mine").stdout
    (here / "mine.py").write_text(MINE.replace("longest wait", "another rule"))
    assert "another rule" in headgate("policies", "show", "./mine.py:Mine").stdout


def test_registered_twice_by_its_decorator(headgate: Headgate, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is also a plugin names its policy itself; reading it again is no second policy of that name."""
    monkeypatch.setattr(registry, "_POLICIES", registry.policies())  # whatever is entered is forgotten afterwards
    text = MINE.replace(
        "class Mine", "from headgate.policies.registry import register\n\n\n@register('of-a-file')\nclass Mine"
    )
    for rule in ("first", "second"):
        (here / "mine.py").write_text(text.replace("longest wait", rule))
        assert rule in headgate("policies", "show", "./mine.py:Mine").stdout


ERRORS = {
    "./mine.py:Mnie": "./mine.py: unknown class 'Mnie'; did you mean 'Mine'?",
    "./mine.py:Unfinished": "./mine.py:22: class 'Unfinished' lacks line; define what it lacks",
    "./mine.py:NoPolicy": "./mine.py:26: class 'NoPolicy' is no policy; derive it from Linear, Scored or Policy",
    "./mine.py:Linear": "./mine.py: class 'Linear' is imported, not the file's own; derive a class of your own from it",
    "./mine.py:FailsAtFirst": "KeyError: 'nothing' (./mine.py:33, in __init__)",
    "./mine.py:Wants": "./mine.py:36: unknown statistic 'costt'; did you mean 'cost'?",
    "./mine.py:Broken": "'cost' is read but not declared; add it to the policy's `needs` (./mine.py:19, in line)",
    "./mine.py:AnswersNothing": "neither a Choice nor Idle (./mine.py:41, in choose)",
    "./mine.py:Mine, sing=1": "unknown setting 'sing' of './mine.py:Mine'; did you mean 'sign'?",
    "./mine.py": "'./mine.py' does not name a policy in a file; write the file and the class, as ./mine.py:Mine",
    "./mien.py:Mine": "there is no file './mien.py'",
    "./mine.py/x.py:Mine": "there is no file './mine.py/x.py'",
    "http://host/mine.py:Mine": "is not on this machine",
}


@pytest.mark.parametrize("policy", ERRORS)
def test_what_is_wrong_names_file_and_line(headgate: Headgate, two: Path, here: Path, policy: str) -> None:
    result = headgate("simulate", two, "--policy", policy)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert ERRORS[policy] in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nclass Mine(:\n", "./mine.py:2: is not Python: invalid syntax"),
        ("x = 1\n\ny = 1 / 0\n", "./mine.py:3: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "./mine.py:2: SystemExit: 3"),
        ("import no_such_module\n", "./mine.py:1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("", "unknown class 'Mine'; the file has no policy"),
        ("x = '\0'", "./mine.py"),
        ("# coding: nonsense\n", "'./mine.py' is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_run(headgate: Headgate, two: Path, here: Path, text: str, said: str) -> None:
    (here / "mine.py").write_text(text)
    result = headgate("simulate", two, "--policy", "./mine.py:Mine")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    "policy", ["./trap.py:Mine", "trap.py:Mine, sign=1", "adaptive, candidates=[rr, ./trap.py:Mine]"]
)
def test_a_workload_file_runs_no_code(headgate: Headgate, two: Path, here: Path, policy: str) -> None:
    (here / "trap.py").write_text(TRAP)
    change = f'\n[[change]]\nat = "1 ms"\npolicy = "{policy}"\n'
    (here / "w.toml").write_text(two.read_text() + change)
    line = len((two.read_text() + change).splitlines())
    for more in ((), ("--policy", "./mine.py:Mine")):
        result = headgate("simulate", "w.toml", *more)
        assert result.exit_code == 2
        assert f"w.toml:{line}: change[0], policy: policy '" in result.stderr
        assert "is code in a file" in result.stderr
        assert "give it on the command line, as --policy" in result.stderr
    assert not (here / "sprung").exists()


def test_a_trace_runs_no_code_unless_given(headgate: Headgate, two: Path, here: Path) -> None:
    recorded = here / "t.jsonl"
    assert headgate("simulate", two, "-p", "./mine.py:Mine, sign=-1", "--record", recorded).exit_code == 0
    (here / "elsewhere").mkdir()
    (here / "elsewhere" / "mine.py").write_text(MINE)
    (here / "mine.py").write_text(TRAP)
    for command in (("replay", recorded), ("why", recorded, "--decision", "1"), ("why", "q1", recorded)):
        refused = headgate(*command)
        assert refused.exit_code == 2
        assert "the trace names policy './mine.py:Mine', code in a file" in refused.stderr
        assert headgate(*command, "--policy", "elsewhere/mine.py:Broken").exit_code == 2
        assert not (here / "sprung").exists()
        assert headgate(*command, "--policy", "elsewhere/mine.py:Mine").exit_code == 0
        assert not (here / "sprung").exists()
    assert "is not a policy of a file" in headgate("replay", recorded, "-p", "fcfs").stderr


def test_a_changed_policy_in_a_trace_runs_no_code(headgate: Headgate, two: Path, here: Path) -> None:
    recorded = here / "t.jsonl"
    headgate("simulate", two, "-p", "fcfs", "--record", recorded)
    (here / "trap.py").write_text(TRAP)
    first, *rest = recorded.read_text().splitlines(keepends=True)
    changed = json.dumps({"now": 0.0, "event": "PolicyChanged", "policy": "./trap.py:Mine"}) + "\n"
    recorded.write_text(first + changed + "".join(rest))
    refused = headgate("replay", recorded)
    assert refused.exit_code == 2
    assert "line 2: the trace names policy './trap.py:Mine'" in refused.stderr
    assert not (here / "sprung").exists()


def test_the_example_is_what_it_says(headgate: Headgate, sensors: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "weighted_wait.py"
    reports = json.loads(
        headgate("simulate", sensors, "-p", "fcfs", "-p", f"{example}:WeightedWait, power=0", "--json").stdout
    )
    first, other = reports["policies"].values()
    assert first["response_time"] == other["response_time"]
