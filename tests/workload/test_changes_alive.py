"""Changes that would come too early, too late, or against a fixed pattern are refused where they stand."""

from __future__ import annotations

import pytest

from headgate.model import HeadgateError
from headgate.workload import parse_workload

FILE = """
[workload]
duration = "10 s"

[[stream]]
name = "s"
arrivals = "poisson, rate=10"

[[class]]
name = "high"
priority = 2

[[class]]
name = "low"

[[query]]
name = "q"
class = "low"
from = ["s"]
start = "2 s"
end = "8 s"
operators = ["select, cost=1ms, pass=[true, false]"]

[[change]]
at = "{at}"
query = "q"
{what}
"""


def changed(at: str, what: str) -> int:
    return len(parse_workload(FILE.format(at=at, what=what), file="w.toml").changes)


@pytest.mark.parametrize("at", ["1 s", "8 s", "9 s"])
def test_a_query_changes_only_while_it_runs(at: str) -> None:
    with pytest.raises(HeadgateError, match=r"^w.toml:\d+: .*it runs from 2 s to 8 s; let the change be while it runs"):
        changed(at, 'class = "high"')


def test_a_change_while_it_runs_is_read() -> None:
    assert changed("2 s", 'class = "high"') == 1


def test_a_pattern_has_no_selectivity_to_change() -> None:
    with pytest.raises(HeadgateError, match="passes tuples by a fixed pattern; leave out its pass"):
        changed("3 s", "operator = 0\nselectivity = 0.9")
