"""How the more important classes are kept apart from the others, whatever the policy decides."""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Isolation:
    """Three means, each for itself: short runs, cancelled runs, and workers that are kept free.

    They matter only between classes of different priority. Without settings nothing is kept apart.

    >>> Isolation().active, Isolation(keep=1).active
    (False, True)
    """

    slice: float | str | None = None  # seconds that a run of a lower class may take; "auto": some run overheads
    preempt: bool = False  # runs of lower classes are cancelled for higher ones, if that is worth it
    keep: int | str = 0  # workers that only the highest class uses; "auto": one, while it is in use

    @property
    def active(self) -> bool:
        return self.slice is not None or self.preempt or self.keep != 0
