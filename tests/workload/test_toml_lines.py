"""Lines of things, found in the text."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.workload.toml_lines import Loc, lines

TEXT = '''# a comment with [[query]] in it
[workload] # and one after
name = "[[stream]] # not one"
[[query]]
sql = """
[[query]]
x = "1" ""\\"
"""
operators = [
    "select, cost=5ms", # [
    'project, name="x"',
    """union""", "x",
]
draw = { cost = "a = 1", share = ['b', "c"] }
[[query]]
"quoted" = 1.5
a.b.c = 2024-01-01T00:00:00Z
[query.draw]
cost = 1
[[query]]
'''


def test_lines_of_tables_keys_and_elements() -> None:
    found = lines(TEXT)
    expected: dict[Loc, int] = {
        ("workload",): 2,
        ("workload", "name"): 3,
        ("query", 0): 4,
        ("query", 0, "sql"): 5,
        ("query", 0, "operators"): 9,
        ("query", 0, "operators", 0): 10,
        ("query", 0, "operators", 1): 11,
        ("query", 0, "operators", 2): 12,
        ("query", 0, "operators", 3): 12,
        ("query", 0, "draw", "share", 1): 14,
        ("query", 1): 15,
        ("query", 1, "quoted"): 16,
        ("query", 1, "a", "b", "c"): 17,
        ("query", 1, "draw"): 18,
        ("query", 1, "draw", "cost"): 19,
        ("query", 2): 20,
    }
    assert {loc: found.get(loc) for loc in expected} == expected
    assert tomllib.loads(TEXT)["query"][2] == {}


words = st.text(st.sampled_from("ab\"'\\#[]{}=,.\n "), max_size=6)
scalars = st.one_of(words, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def written(value: Any) -> str:
    """TOML, one element of a list on each line."""
    if isinstance(value, list):
        return "[" + "".join(f"\n{written(item)}," for item in value) + "\n]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return str(value).lower()


def located(value: Any, loc: Loc) -> list[Loc]:
    inner = (
        [found for place, item in enumerate(value) for found in located(item, (*loc, place))]
        if isinstance(value, list)
        else []
    )
    return [loc, *inner]


@given(st.lists(st.lists(values, max_size=3), max_size=3))
def test_everything_in_a_file_is_found_in_order(tables: list[list[Any]]) -> None:
    text = "".join("[[t]]\n" + "".join(f"k{i} = {written(v)}\n" for i, v in enumerate(table)) for table in tables)
    tomllib.loads(text)
    found = lines(text)
    locs = [loc for n, table in enumerate(tables) for i, v in enumerate(table) for loc in located(v, ("t", n, f"k{i}"))]
    numbers = [found[loc] for loc in locs]
    assert numbers == sorted(set(numbers))
