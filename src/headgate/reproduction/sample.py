"""A measured number, once per seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite, nan

from headgate.metrics.measures.confidence import Band, band
from headgate.model.number_text import with_margin


@dataclass(frozen=True, slots=True)
class Sample:
    """One value for each seed, in the order of the seeds; nan where a run has no value.

    Arithmetic goes seed by seed, so that a ratio of two policies compares runs on the same arrivals.

    >>> hnr, rr = Sample.of([2.0, 3.0]), Sample.of([8.0, 10.0])
    >>> (hnr / rr).values, round((1 - hnr / rr).mean, 3)
    ((0.25, 0.3), 0.725)
    >>> str(hnr / rr)
    '0.28 ± 0.32'
    """

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: float | Iterable[float | None] | None) -> Sample:
        """A sample of some values, or of one."""
        given = [values] if values is None or isinstance(values, float | int) else list(values)
        return cls(tuple(nan if value is None else float(value) for value in given))

    @property
    def mean(self) -> float:
        return self.band.mean

    @property
    def band(self) -> Band:
        """The mean with half the width of its 95 % interval over the seeds; nan if any run has no value."""
        return band(self.values) if self.known else Band(nan, 0.0)

    @property
    def known(self) -> bool:
        """Whether every run has a value."""
        return bool(self.values) and all(map(isfinite, self.values))

    def __str__(self) -> str:
        return with_margin(*self.band) if self.known else "no value"

    def __add__(self, other: Sample | float) -> Sample:
        return self._with(other, lambda own, others: own + others)

    def __sub__(self, other: Sample | float) -> Sample:
        return self._with(other, lambda own, others: own - others)

    def __rsub__(self, other: float) -> Sample:
        return self._with(other, lambda own, others: others - own)

    def __mul__(self, other: Sample | float) -> Sample:
        return self._with(other, lambda own, others: own * others)

    def __truediv__(self, other: Sample | float) -> Sample:
        return self._with(other, lambda own, others: own / others if others else nan)

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, other: Sample | float, combine: Callable[[float, float], float]) -> Sample:
        others = other.values if isinstance(other, Sample) else (float(other),) * len(self.values)
        return Sample(tuple(combine(*pair) for pair in zip(self.values, others, strict=True)))
