"""A policy of the user's own file in a session: used where it is given, replaced where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.conftest import Open

from headgate.model import HeadgateError

OWN = '''
from headgate.policies.linear import Linear


class Own(Linear):
    """Longest wait."""

    def line(self, unit, stats):
        return 0.0, 1.0


class Fails(Own):
    def line(self, unit, stats):
        raise KeyError("gold")
'''


def test_a_session_takes_a_file(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    session = opened(policy="./own.py:Own, train=3")
    session.stream("s", "id bigint")
    hot = session.query("hot", "SELECT id FROM s WHERE id > 1")
    session.append("s", [{"id": number} for number in range(4)])
    assert session.drain(60)
    assert [row["id"] for row in hot.read().to_pylist()] == [2, 3]
    assert session.status().policy == "./own.py:Own, train=3"
    for wrong, said in {"./own.py:Owm": "unknown class 'Owm'", "./nowhere.py:Own": "there is no file"}.items():
        with pytest.raises(HeadgateError, match=said):
            session.set_policy(wrong)
    session.set_policy("./own.py:Fails")
    session.append("s", [{"id": 5}])
    assert session.drain(60)
    assert session.status().policy == "./own.py:Own, train=3"
    assert "KeyError: 'gold' (./own.py:14, in line)" in session.status().policy_error


def test_a_wrong_file_is_told_before_spark_starts(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class Own(:\n")
    with pytest.raises(HeadgateError, match=r"own\.py:1: is not Python"):
        opened(policy=f"{tmp_path}/own.py:Own")
