"""Time windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class Window:
    """A time window: `size` seconds long, a new one every `slide` seconds.

    >>> Window(10.0).tumbling, Window(10.0, 5.0).tumbling
    (True, False)
    >>> Window(10.0, 5.0).panes
    2.0
    """

    size: float
    slide: float = 0.0  # 0 stands for `size`: windows that do not overlap

    def __post_init__(self) -> None:
        if self.slide == 0.0:
            object.__setattr__(self, "slide", self.size)

    @property
    def tumbling(self) -> bool:
        return self.slide == self.size

    def closes(self, moment: float) -> float:
        """When the first of the windows ends that a moment belongs to; windows begin at multiples of the slide.

        >>> Window(10.0).closes(3.0), Window(10.0).closes(10.0), Window(10.0, 4.0).closes(3.0)
        (10.0, 20.0, 6.0)
        """
        number = floor((moment - self.size) / self.slide) + 1
        end = number * self.slide + self.size
        return end if end > moment else end + self.slide  # a rounded quotient may be one too small

    @property
    def panes(self) -> float:
        """How many windows a moment belongs to."""
        return self.size / self.slide
