"""Scales of axes: linear, or logarithmic where values spread over decades."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log10
from typing import TYPE_CHECKING, NamedTuple

from headgate.model.number_text import significant, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LOGARITHMIC_SPREAD = 20.0  # largest over smallest value above which a linear scale hides the small ones
FEW_DECADES = 2.2  # so few get ticks also at 2 and 5 times their powers of ten


class ResponseScale(NamedTuple):
    """How response times are drawn: in which unit, and whether by decades."""

    unit: str
    seconds: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float]) -> ResponseScale:
        """The scale for these response times, in the unit in which the largest reads well.

        >>> ResponseScale.of([0.0014, 0.012])
        ResponseScale(unit='ms', seconds=0.001, logarithmic=False)
        """
        return cls(*time_unit([max(values, default=1.0)]), logarithmic(values))


def logarithmic(values: Sequence[float]) -> bool:
    """Whether the values above 0 spread so far that a linear scale would hide the small ones.

    >>> logarithmic([0.01, 2.0]), logarithmic([0.0, 0.5, 2.0])
    (True, False)
    """
    positive = [value for value in values if value > 0 and isfinite(value)]
    return bool(positive) and max(positive) > LOGARITHMIC_SPREAD * min(positive)


def readable(value: float, digits: int = 6) -> str:
    """A number as pictures write it: in full, not as a power of ten, in groups of three digits from 10,000 on.

    >>> readable(0.01), readable(1000.0), readable(10_000.0), readable(1234.5678, 3)
    ('0.01', '1000', '10,000', '1235')
    """
    return f"{value:,.0f}" if abs(value) >= 1e4 else significant(value, digits)


def readable_ticks(axis: Axis) -> None:
    """Write all numbers of an axis as `readable` does."""
    axis.set_major_formatter(lambda value, _: readable(value))


def decade_ticks(axis: Axis) -> None:
    """Ticks and grid of an axis that goes by decades, its limits final."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if log10(high / low) < FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())
    readable_ticks(axis)


def finish_response_axes(axes: Sequence[Axes], scale: ResponseScale) -> None:
    """Finish axes that share their response times, once everything is drawn on them."""
    for ax in axes:
        ax.grid(axis="y")
    if axes and scale.logarithmic:
        axes[0].set_yscale("log")
        decade_ticks(axes[0].yaxis)
    elif axes:
        axes[0].set_ylim(bottom=0.0)
