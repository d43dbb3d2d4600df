"""What users want, put together: many profiles, each with a weight, become one master profile.

A profile says how often a user accesses each element (Carney 2005, section 2.2). The master profile adds these
frequencies; a user counts as often as they access, times their weight. With `per_user` every user counts the same,
times their weight, however often they access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headgate.freshness.elements import name_rows
from headgate.model import HeadgateError


def master_profile(
    user: Sequence[Any],
    element: Sequence[Any],
    accesses: ArrayLike | None = None,
    *,
    weights: Mapping[Any, float] | None = None,
    per_user: bool = False,
) -> dict[Any, float]:
    """Access probabilities by element, from one row per access (or per user and element, with a count).

    >>> master_profile(["ann", "ann", "bob"], ["x", "y", "x"], [3, 1, 4])
    {'x': 0.875, 'y': 0.125}
    >>> master_profile(["ann", "ann", "bob"], ["x", "y", "x"], [3, 1, 4], weights={"bob": 0})
    {'x': 0.75, 'y': 0.25}
    >>> master_profile(["ann", "ann", "bob"], ["x", "y", "x"], [3, 1, 400], per_user=True)
    {'x': 0.875, 'y': 0.125}
    """
    counts = np.ones(len(user)) if accesses is None else np.asarray(accesses, dtype=float)
    _check(user, element, counts)
    users, of_user = _codes(user)
    elements, of_element = _codes(element)
    weight = np.array([check_weight(user, (weights or {}).get(user, 1.0)) for user in users])
    if per_user:
        totals = np.bincount(of_user, weights=counts)
        weight = np.divide(weight, totals, out=np.zeros(len(users)), where=totals > 0)
    wanted = np.bincount(of_element, weights=counts * weight[of_user])
    if not wanted.any():
        raise HeadgateError("the profiles sum to 0", hint="at least one user must want something")
    return dict(zip(elements, (wanted / wanted.sum()).tolist(), strict=True))


def check_weight(user: Any, weight: float) -> float:
    """Refuse a weight that is none."""
    if not 0 <= weight < float("inf"):
        raise HeadgateError(f"the weight of user {user} is {weight:g}", hint="write 0 or more")
    return float(weight)


def _check(user: Sequence[Any], element: Sequence[Any], counts: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    if not len(user) == len(element) == len(counts):
        raise HeadgateError(
            f"there are {len(user)} users, {len(element)} elements and {len(counts)} counts",
            hint="give as many of each",
        )
    wrong = np.flatnonzero(~((counts >= 0) & np.isfinite(counts)))
    if len(wrong):
        raise HeadgateError(f"accesses are negative or missing in {name_rows(wrong)}", hint="write 0 or more")


def _codes(keys: Sequence[Any]) -> tuple[list[Any], np.ndarray[Any, np.dtype[np.intp]]]:
    """The different keys in their order, and the place of each key among them."""
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return list(places), np.array([places[key] for key in keys], dtype=np.intp)
