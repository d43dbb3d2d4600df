from __future__ import annotations

import pytest

from headgate.freshness.profiles import master_profile
from headgate.model import HeadgateError


def test_rows_are_accesses_when_no_counts_are_given() -> None:
    assert master_profile(["a", "a", "b", "b"], ["x", "x", "x", "y"]) == {"x": 0.75, "y": 0.25}


def test_weights_count_users() -> None:
    found = master_profile(["general", "private"], ["x", "y"], [1, 1], weights={"general": 9})
    assert found == pytest.approx({"x": 0.9, "y": 0.1})


def test_wrong_profiles() -> None:
    with pytest.raises(HeadgateError, match="negative or missing in row 2"):
        master_profile(["a", "b"], ["x", "y"], [1, -1])
    with pytest.raises(HeadgateError, match="the weight of user a is -1"):
        master_profile(["a"], ["x"], weights={"a": -1})
    with pytest.raises(HeadgateError, match="sum to 0"):
        master_profile(["a"], ["x"], [0])
    with pytest.raises(HeadgateError, match="give as many of each"):
        master_profile(["a"], ["x", "y"])
