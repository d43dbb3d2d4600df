"""What a mirror keeps copies of: how often each element changes, how often it is wanted, how large it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.freshness.curve import Floats
from headgate.model import HeadgateError

SHOWN = 5  # of the rows that an error names


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements in columns; `Elements.of` checks them.

    `access` are probabilities: they sum to 1. `floor` is the least freshness that each must have.
    """

    change_rate: Floats
    access: Floats
    size: Floats
    floor: Floats
    ids: Sequence[Any] | NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        change_rate: ArrayLike,
        access: ArrayLike,
        size: ArrayLike | None = None,
        min_freshness: ArrayLike | None = None,
        ids: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Elements:
        """Elements from columns; sizes are 1 if not given, accesses of any scale are brought to the sum 1.

        >>> Elements.of([1, 2], [30, 10]).access.tolist()
        [0.75, 0.25]
        >>> Elements.of([1, -2], [1, 1], ids=["a", "b"])
        Traceback (most recent call last):
        headgate.model.errors.HeadgateError: change_rate is negative in row 2 (id b); write 0 or more
        """
        rates = _column("change_rate", change_rate)
        count = len(rates)
        elements = cls(
            change_rate=rates,
            access=_column("access", access, count),
            size=_column("size", 1.0 if size is None else size, count),
            floor=_column("min_freshness", 0.0 if min_freshness is None else min_freshness, count),
            ids=ids,
        )
        elements._check()
        shares = elements.access / elements.access.max()
        return replace(elements, access=shares / shares.sum())

    def __len__(self) -> int:
        return len(self.change_rate)

    def with_floor(self, min_freshness: ArrayLike) -> Elements:
        """The same elements, each at least so fresh."""
        return Elements.of(self.change_rate, self.access, self.size, min_freshness, self.ids)

    def ignoring_access(self) -> Elements:
        """The same elements, all wanted equally: what general freshening (GF) plans for."""
        return replace(self, access=np.full(len(self), 1.0 / len(self)))

    def _check(self) -> None:
        if not len(self):
            raise HeadgateError("there are no elements", hint="give at least one row")
        for name in ("change_rate", "access", "size", "min_freshness"):
            column = self.floor if name == "min_freshness" else getattr(self, name)
            self._refuse(np.isnan(column), f"{name} is missing", "write a number")
            self._refuse(np.isinf(column), f"{name} is not finite", "write a number")
            self._refuse(column < 0, f"{name} is negative", "write 0 or more")
        self._refuse(self.size == 0, "size is 0", "write more than 0: a refresh that costs nothing needs no plan")
        self._refuse(self.floor > 1, "min_freshness is above 1", "write a share between 0 and 1")
        self._refuse(
            (self.floor == 1) & (self.change_rate > 0),
            "min_freshness is 1 for an element that changes",
            "write less than 1: no number of refreshes keeps it fresh all the time",
        )
        if not self.access.any():
            raise HeadgateError("access sums to 0", hint="at least one element must be wanted")
        if self.ids is not None:
            check_ids(self.ids, len(self))

    def _refuse(self, wrong: NDArray[np.bool_], message: str, hint: str) -> None:
        rows = np.flatnonzero(wrong)
        if len(rows):
            raise HeadgateError(f"{message} in {name_rows(rows, self.ids)}", hint=hint)


def name_rows(rows: Sequence[int] | NDArray[np.intp], ids: Sequence[Any] | NDArray[Any] | None = None) -> str:
    """The first few of some rows in words; rows are counted from 1.

    >>> name_rows([0, 4]), name_rows([1], ["a", "b"])
    ('rows 1 and 5', 'row 2 (id b)')
    >>> name_rows(list(range(8)))
    'rows 1, 2, 3, 4, 5 and 3 more'
    """
    shown = [f"{row + 1}" + ("" if ids is None else f" (id {ids[row]})") for row in rows[:SHOWN]]
    return ("row " if len(rows) == 1 else "rows ") + in_words(shown, len(rows))


def in_words(shown: Sequence[str], count: int) -> str:
    """Some of `count` names, and how many more there are.

    >>> in_words(["a", "b"], 2), in_words(["a"], 4)
    ('a and b', 'a and 3 more')
    """
    left = count - len(shown)
    parts = [*shown, f"{left} more"] if left else list(shown)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def check_ids(ids: Sequence[Any] | NDArray[Any], count: int) -> None:
    """Refuse keys that are missing or come twice."""
    if len(ids) != count:
        raise HeadgateError(f"there are {len(ids)} ids for {count} elements", hint="give one id for each")
    missing = [row for row, key in enumerate(_plain(ids)) if key is None]
    if missing:
        raise HeadgateError(f"id is missing in {name_rows(missing)}", hint="give every element a key")
    if len(set(_plain(ids))) < count:
        twice = [str(key) for key, times in Counter(_plain(ids)).items() if times > 1]
        raise HeadgateError(
            f"id is not unique: {in_words(twice[:SHOWN], len(twice))}", hint="give each element one row"
        )


def _plain(ids: Sequence[Any] | NDArray[Any]) -> Iterable[Any]:
    return ids.tolist() if isinstance(ids, np.ndarray) else ids


def _column(name: str, values: ArrayLike, count: int | None = None) -> Floats:
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise HeadgateError(f"{name} holds something else than numbers", hint="write a number in every row") from None
    if count is not None and column.ndim == 0:
        column = np.full(count, float(column))
    if column.ndim != 1 or count not in (None, len(column)):
        raise HeadgateError(f"{name} has {column.size} values for {count} elements", hint="give one for each")
    return column
