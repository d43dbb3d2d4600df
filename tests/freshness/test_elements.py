from __future__ import annotations

from typing import Any

import pytest

from headgate.freshness import Elements
from headgate.model import HeadgateError

NAN, INF = float("nan"), float("inf")
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"change_rate": [1, -1, -2]}, "change_rate is negative in rows 2 and 3"),
    ({"change_rate": [1, NAN, 1]}, "change_rate is missing in row 2"),
    ({"change_rate": [1, INF, 1]}, "change_rate is not finite in row 2"),
    ({"change_rate": [1, None, 1]}, "change_rate is missing in row 2"),
    ({"change_rate": ["x", 1, 1]}, "change_rate holds something else than numbers"),
    ({"access": [1, 2]}, "access has 2 values for 3 elements"),
    ({"access": [-1, 1, 1]}, "access is negative in row 1"),
    ({"access": [0, 0, 0]}, "access sums to 0"),
    ({"size": [1, 1, NAN]}, "size is missing in row 3"),
    ({"size": [0, 1, 1]}, "size is 0 in row 1"),
    ({"min_freshness": 1.2}, "min_freshness is above 1 in rows 1, 2 and 3"),
    ({"min_freshness": [0, 1, 0]}, "min_freshness is 1 for an element that changes in row 2"),
    ({"ids": ["a", "b", "a"]}, "id is not unique: a"),
    ({"ids": ["a", None, "b"]}, "id is missing in row 2"),
    ({"ids": ["a", "b"]}, "there are 2 ids for 3 elements"),
    ({"change_rate": [], "access": []}, "there are no elements"),
]


@pytest.mark.parametrize(("columns", "message"), WRONG)
def test_what_is_wrong_is_named(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadgateError) as caught:
        Elements.of(**{"change_rate": [1, 2, 3], "access": [1, 1, 1], **columns})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ids_are_named_with_their_rows() -> None:
    with pytest.raises(HeadgateError, match=r"access is negative in row 2 \(id b\)"):
        Elements.of([1, 2], [1, -1], ids=["a", "b"])


def test_huge_accesses_have_a_sum() -> None:
    assert Elements.of([1, 1], [1e308, 1e308]).access.tolist() == [0.5, 0.5]
