"""Merge patches: what they say leads from one value to the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.server.merge_patch import applied, difference

SCALARS = st.one_of(st.booleans(), st.integers(-2, 2), st.floats(-2, 2), st.sampled_from(["", "a"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1, 1.0 and true are different in JSON."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return repr(one) == repr(other) or (one == other and type(one) is type(other) and not isinstance(one, list))


@given(OBJECTS, OBJECTS)
def test_a_patch_makes_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    kept = repr(before)
    patched = applied(difference(before, after), before)
    assert patched == after
    assert all(same(patched[name], after[name]) for name in after if not isinstance(after[name], list))
    assert repr(before) == kept


@given(OBJECTS)
def test_equal_values_need_no_patch(value: dict[str, Any]) -> None:
    assert difference(value, dict(value)) == {}


def test_examples_of_the_standard() -> None:
    cases = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": 1}, {"a": {"bb": {"ccc": None}}}, {"e": 1, "a": {"bb": {}}}),
    ]
    for value, patch, wanted in cases:
        assert applied(patch, value) == wanted
