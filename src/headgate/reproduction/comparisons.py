"""Published beside measured: the kinds of comparison, and the one rule by which they become a verdict.

*reproduced*: the published order exactly, ratios within 25 %, crossing points within 20 %;
*partly*: the published order, with some figure outside of that;
*not*: everything else.

"Within 25 %" is the same both ways round: a ratio of 4 may be measured as 3.2 to 5, and its inverse 0.25 as 0.2 to
0.3125. So nothing depends on which of two policies is written above the other. Numbers are means over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf, isfinite
from typing import Protocol

from headgate.model.number_text import significant
from headgate.reproduction.sample import Sample

RATIO_TOLERANCE = 0.25
CROSSING_TOLERANCE = 0.20
UNEVEN = 0.02  # of the range of a curve that a rising one may fall in between: means over seeds are not exact


class Verdict(StrEnum):
    """What became of a published result."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"


class Comparison(Protocol):
    """One statement of a document beside what was measured."""

    @property
    def what(self) -> str:
        """What is compared, in a few words."""

    @property
    def published(self) -> str: ...

    @property
    def measured(self) -> str: ...

    @property
    def order_ok(self) -> bool:
        """Whether the order is the published one: who is better, which way it goes, whether it is so at all."""

    @property
    def figures_ok(self) -> bool:
        """Whether the numbers are near the published ones; True where none are published."""


def verdict(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict that follows from some comparisons; from none nothing follows.

    >>> faster = Ratio("HNR over RR", 0.26, Sample.of(0.24))
    >>> slower = Ratio("HNR over HR", 0.82, Sample.of(0.60))
    >>> wrong = Holds("no tuple is lost", False)
    >>> [verdict(made).value for made in ([faster], [faster, slower], [faster, wrong])]
    ['reproduced', 'partly', 'not']
    """
    made = list(comparisons)
    if not made or not all(each.order_ok for each in made):
        return Verdict.NOT
    return Verdict.REPRODUCED if all(each.figures_ok for each in made) else Verdict.PARTLY


def near(published: float, measured: float, tolerance: float) -> bool:
    """Whether the larger of two numbers is at most this share above the smaller one.

    >>> near(4.0, 3.2, 0.25), near(0.25, 0.3125, 0.25), near(4.0, 3.1, 0.25), near(1.0, -1.0, 0.25)
    (True, True, False, False)
    """
    if not (isfinite(published) and isfinite(measured)):
        return False
    low, high = sorted((abs(published), abs(measured)))
    return published * measured >= 0 and high <= low * (1 + tolerance) * (1 + 1e-12)


@dataclass(frozen=True, slots=True)
class Order:
    """Who has less of a measure than whom. Names in one group are not told apart by the document.

    >>> measured = {"hnr": Sample.of(2.0), "hr": Sample.of(2.5), "rr": Sample.of(8.0), "fcfs": Sample.of(7.0)}
    >>> Order("mean slowdown", ("hnr", "hr", ("rr", "fcfs")), measured).order_ok
    True
    >>> Order("mean slowdown", ("hnr", "hr", "rr", "fcfs"), measured).order_ok
    False
    """

    what: str
    ranks: Sequence[str | Sequence[str]]  # smallest first
    samples: Mapping[str, Sample]

    @property
    def published(self) -> str:
        return " < ".join(rank if isinstance(rank, str) else ", ".join(rank) for rank in self.ranks)

    @property
    def measured(self) -> str:
        names = [name for group in self._groups for name in group]
        return ", ".join(f"{name} {self.samples[name]}" for name in sorted(names, key=self._value))

    @property
    def order_ok(self) -> bool:
        known = all(self.samples[name].known for group in self._groups for name in group)
        return known and all(
            self._value(less) < self._value(more)
            for group, following in pairwise(self._groups)
            for less in group
            for more in following
        )

    @property
    def figures_ok(self) -> bool:
        return True

    @property
    def _groups(self) -> list[Sequence[str]]:
        return [(rank,) if isinstance(rank, str) else rank for rank in self.ranks]

    def _value(self, name: str) -> float:
        sample = self.samples[name]
        return sample.mean if sample.known else inf


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as much one is as the other: on the published side of 1, and within 25 %.

    Where the document says "74 % below", the ratio is 0.26.
    """

    what: str
    figure: float
    sample: Sample

    @property
    def published(self) -> str:
        return significant(self.figure, 3)

    @property
    def measured(self) -> str:
        return str(self.sample)

    @property
    def order_ok(self) -> bool:
        if not self.sample.known:
            return False
        return self.figure == 1.0 or (self.figure > 1.0) == (self.sample.mean > 1.0)

    @property
    def figures_ok(self) -> bool:
        return near(self.figure, self.sample.mean, RATIO_TOLERANCE)


@dataclass(frozen=True, slots=True)
class Value:
    """A number as it is printed, of something that has no order: a share of freshness, a mean QoS. Within 25 %."""

    what: str
    figure: float
    sample: Sample

    @property
    def published(self) -> str:
        return significant(self.figure, 4)

    @property
    def measured(self) -> str:
        return str(self.sample)

    @property
    def order_ok(self) -> bool:
        return self.sample.known

    @property
    def figures_ok(self) -> bool:
        return near(self.figure, self.sample.mean, RATIO_TOLERANCE)


@dataclass(frozen=True, slots=True)
class Bound:
    """A number of which only a bound is published: "below 1.5", "up to 57 % less". Within 25 % of the bound counts."""

    what: str
    sample: Sample
    least: float = -inf
    most: float = inf

    @property
    def published(self) -> str:
        if self.least == -inf:
            return f"at most {significant(self.most, 3)}"
        low = f"at least {significant(self.least, 3)}"
        return low if self.most == inf else f"{significant(self.least, 3)} to {significant(self.most, 3)}"

    @property
    def measured(self) -> str:
        return str(self.sample)

    @property
    def order_ok(self) -> bool:
        return self.sample.known

    @property
    def figures_ok(self) -> bool:
        mean = self.sample.mean
        return self.least <= mean <= self.most or any(
            near(end, mean, RATIO_TOLERANCE) for end in (self.least, self.most)
        )


@dataclass(frozen=True, slots=True)
class Crossing:
    """A place along a setting: where two curves cross, where one has its peak or its knee. Within 20 %."""

    what: str
    figure: float
    place: float | None  # None: they do not cross

    @property
    def published(self) -> str:
        return f"at {significant(self.figure, 3)}"

    @property
    def measured(self) -> str:
        return "nowhere" if self.place is None else f"at {significant(self.place, 3)}"

    @property
    def order_ok(self) -> bool:
        return self.place is not None and isfinite(self.place)

    @property
    def figures_ok(self) -> bool:
        return self.place is not None and near(self.figure, self.place, CROSSING_TOLERANCE)


class Form(StrEnum):
    """The shapes that documents speak of."""

    RISING = "rising"
    FALLING = "falling"
    FLAT = "flat"
    PEAK = "largest in the middle"
    VALLEY = "smallest in the middle"


@dataclass(frozen=True, slots=True)
class Shape:
    """The course of a curve along a setting. Flat: the largest value is at most 25 % above the smallest.

    >>> Shape("QoS", Form.PEAK, {1: Sample.of(0.4), 20: Sample.of(0.85), 300: Sample.of(0.7)}).order_ok
    True
    """

    what: str
    form: Form
    curve: Mapping[float, Sample]  # by the setting's value

    @property
    def published(self) -> str:
        return self.form.value

    @property
    def measured(self) -> str:
        return ", ".join(f"{significant(place, 3)}: {self.curve[place]}" for place in sorted(self.curve))

    @property
    def order_ok(self) -> bool:
        if len(self.curve) < 2 or not all(sample.known for sample in self.curve.values()):
            return False
        return has_form([self.curve[place].mean for place in sorted(self.curve)], self.form)

    @property
    def figures_ok(self) -> bool:
        return True


def has_form(values: Sequence[float], form: Form) -> bool:
    """Whether values have a form.

    >>> has_form([1, 2, 4], Form.RISING), has_form([1, 4, 2], Form.RISING), has_form([1, 4, 2], Form.PEAK)
    (True, False, True)
    """
    if form is Form.FLAT:
        return near(min(values), max(values), RATIO_TOLERANCE)
    if form is Form.FALLING:
        return has_form([-value for value in values], Form.RISING)
    if form is Form.VALLEY:
        return has_form([-value for value in values], Form.PEAK)
    if form is Form.PEAK:
        return max(values[1:-1], default=-inf) > max(values[0], values[-1])
    slack = UNEVEN * (max(values) - min(values))
    return values[-1] > values[0] and all(after >= before - slack for before, after in pairwise(values))


@dataclass(frozen=True, slots=True)
class Holds:
    """Something that is so or is not: "no inversion at any percentile"."""

    what: str
    holds: bool
    found: str = ""  # what was measured, in words or numbers

    @property
    def published(self) -> str:
        return "holds"

    @property
    def measured(self) -> str:
        return self.found or ("holds" if self.holds else "does not hold")

    @property
    def order_ok(self) -> bool:
        return self.holds

    @property
    def figures_ok(self) -> bool:
        return True


def crossing(first: Mapping[float, Sample], second: Mapping[float, Sample]) -> float | None:
    """Where a curve that begins below another one comes to lie above it, or the other way round; None: nowhere.

    Between two values of the setting both curves are taken as straight.

    >>> low = {0.0: Sample.of(1.0), 1.0: Sample.of(2.0)}
    >>> high = {0.0: Sample.of(2.0), 1.0: Sample.of(1.0)}
    >>> crossing(low, high), crossing(low, low)
    (0.5, None)
    """
    ahead = [(place, first[place].mean - second[place].mean) for place in sorted(first.keys() & second.keys())]
    apart = [(place, lead) for place, lead in ahead if lead != 0]
    for (left, before), (right, after) in pairwise(apart):
        if before * after < 0:
            return left + (right - left) * before / (before - after)
    return None


def best_place(curve: Mapping[float, Sample], *, largest: bool = False) -> float:
    """The value of the setting at which a curve is smallest, or largest."""
    sign = -1.0 if largest else 1.0
    return min(sorted(curve), key=lambda place: sign * curve[place].mean)
