"""Whatever is in a file, it either reads or gives one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import HeadgateError
from headgate.workload import Workload, parse_workload

GOOD = """[workload]
duration = "10 s"
train = 0.3
fuse = "class"
[[stream]]
name = "s"
arrivals = "onoff, rate=5, on=1s, off=250ms"
schema = "a int, ts timestamp"
event_time = "ts"
[[stream]]
name = "t"
arrivals = "at, times=[0, 5ms]"
[[class]]
name = "high"
priority = 6.5
[costs]
select = "cost=5us, selectivity=0.5"
[[query]]
name = "q"
class = "high"
operators = [
    "select, from=s, as=x, cost=5ms, pass=[true, false]",
    "join, from=[x, t], name=pairs, window=1s",
    "aggregate, window=2s, slide=1s",
]
qos = [[0.0, 1.0], [0.5, 0.0]]
[[query]]
name = "many"
count = 2
from = ["s"]
draw = { c = "uniform, low=1us, high=2us" }
operators = ["select, cost=$c"]
[[query]]
name = "sql"
sql = "SELECT a FROM s WHERE a > 5"
[[change]]
at = "5 s"
operator = "pairs"
cost = "1 ms"
"""
PIECES = [
    *"[]{}=,.\"'$#\\-\n 0159ae",
    *("[[query]]\n", "from=x", "as=x", "name=pairs", "inf", "nan", "-1", "1e400", "5", '"5"', "true", "[]", "{}"),
    *(
        "select",
        "union",
        "join",
        "window=1s",
        "count = 3\n",
        "$c",
        "1 s",
        "\u2028",
        "\x0b",
        "é",
        "class",
        "query = 1\n",
    ),
]

places = st.integers(0, len(GOOD.splitlines()) - 1)
edits = st.lists(
    st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), st.sampled_from(PIECES)), min_size=1, max_size=4
)


def outcome(text: str) -> None:
    told = _read(text)
    if not isinstance(told, Workload):
        assert len(told.splitlines()) == 1
        assert told.startswith("w.toml")


def _read(text: str) -> Workload | str:
    try:
        return parse_workload(text, file="w.toml")
    except HeadgateError as error:
        return str(error)


def test_the_good_file_reads() -> None:
    assert [query.name for query in parse_workload(GOOD).queries] == ["q", "many1", "many2", "sql"]


@settings(max_examples=400, deadline=None)
@given(edits)
def test_edits_anywhere(edits: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for place, removed, piece in edits:
        text = text[:place] + piece + text[place + removed :]
    outcome(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["drop", "double", "swap"]), places, places), max_size=6))
def test_lines_left_out_doubled_or_exchanged(moves: list[tuple[str, int, int]]) -> None:
    lines = GOOD.splitlines()
    for move, one, other in moves:
        if move == "drop":
            lines[one] = ""
        elif move == "double":
            lines[one] += "\n" + lines[other]
        else:
            lines[one], lines[other] = lines[other], lines[one]
    outcome("\n".join(lines))


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.sampled_from(PIECES), st.text(max_size=5)
)


@settings(max_examples=300, deadline=None)
@given(places, st.recursive(leaves, lambda inner: st.lists(inner, max_size=3)))
def test_other_values(line: int, value: object) -> None:
    lines = GOOD.splitlines()
    key, equals, _ = lines[line].partition("=")
    if equals:
        lines[line] = f"{key}= {_toml(value)}"
    outcome("\n".join(lines))


def _toml(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        kept = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in value if ord(c) < 0xD800)
        return '"' + kept.replace('"', '\\"') + '"'
    return "{}" if value is None else str(value).lower()


@pytest.mark.slow
def test_examples_shortened_at_any_line() -> None:
    for path in (Path(__file__).parents[2] / "examples").glob("*.toml"):
        text = path.read_text().replace("count = 500", "count = 2").splitlines()
        for end in range(len(text)):
            outcome("\n".join(text[:end]))
