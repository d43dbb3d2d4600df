"""Results as flat columns of numpy, the form in which every measure takes them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def doubles() -> array[float]:
    """An empty column for a driver to append to."""
    return array("d")


@dataclass(frozen=True, slots=True, eq=False)
class ResultColumns:
    """One entry per result, all columns equally long.

    `slowdown` is NaN where it is undefined: the query's ideal processing time is 0.
    """

    arrival: Floats
    emission: Floats
    response: Floats
    slowdown: Floats

    @classmethod
    def of(
        cls, arrival: Sequence[float], emission: Sequence[float], reference: Sequence[float], ideal: float
    ) -> ResultColumns:
        """Columns from a driver's arrays, copied, so that the driver may go on appending.

        >>> ResultColumns.of([0.0, 1.0], [0.5, 3.0], [0.0, 1.0], 0.5).slowdown.tolist()
        [1.0, 4.0]
        """
        count = min(len(arrival), len(emission), len(reference))  # a driver may be between its appends
        came, left, since = (np.array(column, dtype=np.float64)[:count] for column in (arrival, emission, reference))
        slowdown = (left - since) / ideal if ideal > 0 else np.full(count, np.nan)
        return cls(came, left, left - came, slowdown)

    @classmethod
    def join(cls, parts: Sequence[ResultColumns]) -> ResultColumns:
        """All parts, one after another."""
        if len(parts) == 1:
            return parts[0]
        empty = np.empty(0)
        return cls(*(np.concatenate([empty, *(getattr(part, f.name) for part in parts)]) for f in fields(cls)))

    def where(self, chosen: NDArray[np.bool_]) -> ResultColumns:
        return type(self)(*(getattr(self, f.name)[chosen] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.emission)
