"""How well candidates have met the requirements, compared with each other (Pielech 2004, sections 5.2 and 5.3)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from headgate.policies.adaptive.requirements import Requirement, statistics_of
from headgate.policies.adaptive.statistics import Interval, statistic_named
from headgate.stats.average import ExponentialAverage


@dataclass(slots=True)
class History:
    """The samples of one statistic: their exponential average and their range.

    >>> history = History()
    >>> history.add(8.0); history.add(16.0)
    >>> history.mean, history.spread
    (9.0, 8.0)
    """

    least: float = math.inf
    most: float = -math.inf
    _average: ExponentialAverage = field(default_factory=ExponentialAverage)

    def add(self, value: float) -> None:
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        self._average.add(value)

    @property
    def mean(self) -> float | None:
        return self._average.value

    @property
    def spread(self) -> float:
        return max(0.0, self.most - self.least)


Histories = Mapping[str, History]  # by statistic


def normalized(own: History, overall: History, fading: float) -> float:
    """Where a candidate's mean stands in the range of all, 0.5 for the mean of all; it may leave 0 to 1.

    `fading` takes it back to 0.5: the decay to the power of the age.

    >>> own, overall = History(), History()
    >>> own.add(30.0)
    >>> for value in (10.0, 30.0): overall.add(value)
    >>> overall.mean, normalized(own, overall, fading=1.0), normalized(own, overall, fading=0.5)
    (12.5, 1.375, 0.9375)
    """
    if own.mean is None or overall.mean is None or not overall.spread:
        return 0.5
    return (own.mean - overall.mean) / overall.spread * fading + 0.5


def score(requirements: Sequence[Requirement], own: Histories, overall: Histories, fading: float) -> float:
    """How well a candidate meets the requirements: the weighted sum of where it stands, each between 0 and 1."""
    total = 0.0
    for wanted in requirements:
        place = normalized(own[wanted.statistic], overall[wanted.statistic], fading)
        if wanted.quantifier == "minimize":
            place = 1.0 - place
        total += wanted.weight * min(1.0, max(0.0, place))
    return total


def spin(random: Random, scores: Mapping[int, float]) -> int:
    """Draw one, with a chance in proportion to its score; with nothing but zeros each is as likely as the others.

    >>> spin(Random(1), {0: 0.0, 1: 0.4, 2: 0.0})
    1
    """
    numbers = sorted(scores)
    weights = [scores[number] for number in numbers]
    return random.choices(numbers, weights if any(weights) else None)[0]


class Selector:
    """Keeps the samples of all candidates, scores them and draws the next.

    Samples count for the candidate that ran, for all together, and for the present turn.
    """

    def __init__(self, candidates: int, requirements: Sequence[Requirement], decay: float, *, by_choices: bool) -> None:
        self.requirements = tuple(requirements)
        self.scores: dict[int, float] = {}
        self.overall = self._histories()
        self.current = self._histories()
        self.by_candidate = [self._histories() for _ in range(candidates)]
        self.random = Random(0)
        self._decay = decay
        self._by_choices = by_choices
        self._choices = 0
        self._updated = [0.0] * candidates  # when each was sampled last
        self._chosen = [0] * candidates  # how many choices there had been when each was chosen last
        self._scored = 0.0

    def sample(self, candidate: int, interval: Interval, now: float) -> None:
        """Take up what happened under a candidate."""
        self._updated[candidate] = now
        for name in self.overall:
            value = statistic_named(name)(interval)
            if value is not None:
                for histories in (self.overall, self.current, self.by_candidate[candidate]):
                    histories[name].add(value)

    def chosen(self, candidate: int) -> None:
        """A candidate begins a turn."""
        self._choices += 1
        self._chosen[candidate] = self._choices
        self.current = self._histories()

    def rate(self, ran: int, now: float) -> None:
        """Score the candidates anew, except the one that just ran.

        The mean of all is drawn towards that of who runs, so its own score would say less the longer it ran. It
        keeps the one it had, decayed, until another has run.
        """
        for candidate, own in enumerate(self.by_candidate):
            if candidate == ran and ran in self.scores:
                self.scores[ran] *= self._decay ** (1 if self._by_choices else now - self._scored)
            else:
                self.scores[candidate] = score(self.requirements, own, self.overall, self._fading(candidate, now))
        self._scored = now

    def draw(self, avoid: Collection[int] = ()) -> int:
        return spin(self.random, {number: score for number, score in self.scores.items() if number not in avoid})

    def _fading(self, candidate: int, now: float) -> float:
        age = self._choices - self._chosen[candidate] if self._by_choices else now - self._updated[candidate]
        return self._decay ** max(0.0, age)

    def _histories(self) -> dict[str, History]:
        return {name: History() for name in statistics_of(self.requirements)}
