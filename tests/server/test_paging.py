"""Cursors and pages: nothing twice, nothing left out, and no cursor that the server did not give."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import HeadgateError
from headgate.server.paging import Order, cursor, of_names, position, row_position

VALUES = st.one_of(st.none(), st.integers(-5, 5), st.floats(allow_nan=True), st.text(max_size=3))


@given(
    st.dictionaries(st.text(min_size=1, max_size=4), st.one_of(st.none(), st.integers(-3, 3), st.floats())),
    st.integers(1, 5),
    st.booleans(),
)
def test_pages_have_every_item_once_in_order(items: dict[str, Any], limit: int, descending: bool) -> None:
    order: Order[str] = Order("things", str, lambda name: items[name], descending)
    found, after = list[str](), None
    while True:
        page = order.page(items, after, limit)
        found += page.items
        if page.next is None:
            break
        assert len(page.items) == limit
        after = page.next
    assert found == order.page(items, None, 1000).items
    assert sorted(found) == sorted(items)
    numbers = [items[name] for name in found if items[name] is not None and abs(items[name]) < float("inf")]
    assert numbers == sorted(numbers, reverse=descending)


@given(st.lists(st.text(min_size=1, max_size=3), unique=True, min_size=2, max_size=8), st.data())
def test_what_goes_between_two_pages_hides_nothing(names: list[str], data: st.DataObject) -> None:
    first = of_names("names", names, None, len(names) // 2)
    gone = data.draw(st.sampled_from(names))
    rest = of_names("names", [name for name in names if name != gone], first.next, 100)
    assert {*first.items, *rest.items} >= set(names) - {gone}
    assert not {*first.items} & {*rest.items}


def test_texts_are_sorted_in_both_directions() -> None:
    words = {"a": "run", "b": "runs", "c": "pause"}
    down: Order[str] = Order("w", str, words.__getitem__, descending=True)
    up: Order[str] = Order("w", str, words.__getitem__)
    assert down.page(words, None, 9).items == ["b", "a", "c"]
    assert up.page(words, None, 9).items == ["c", "a", "b"]


@given(st.text(max_size=30))
def test_a_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(HeadgateError) as refused:
        row_position(text, "rows of 'hot'")
    assert refused.value.where == "cursor"


@given(st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3), max_leaves=6))
def test_a_cursor_with_other_contents_is_refused(contents: Any) -> None:
    forged = base64.urlsafe_b64encode(json.dumps(["rows", contents]).encode()).decode().rstrip("=")
    if isinstance(contents, int) and not isinstance(contents, bool) and contents >= 0:
        assert row_position(forged, "rows") == contents
    else:
        with pytest.raises(HeadgateError):
            row_position(forged, "rows")


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(HeadgateError, match="of another list"):
        position(cursor("streams", "a"), "tables")
