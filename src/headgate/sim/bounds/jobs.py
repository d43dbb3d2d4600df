"""Jobs: results as a lower bound sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Results to be worked for, all columns equally long.

    A job may begin at its `release`. It takes `work` core seconds that no other job is charged for, and ends no sooner
    than `alone` seconds after its release, however many cores there are.
    """

    release: Floats
    work: Floats
    alone: Floats

    @classmethod
    def of(cls, release: Sequence[float], work: Sequence[float], alone: Sequence[float] | None = None) -> Jobs:
        """Jobs that share nothing, unless it is said how long they take alone.

        >>> len(Jobs.of([0.0, 1.0], [2.0, 0.5]))
        2
        """
        columns = (release, work, work if alone is None else alone)
        return cls(*(np.array(column, dtype=np.float64) for column in columns))

    def __len__(self) -> int:
        return len(self.release)
