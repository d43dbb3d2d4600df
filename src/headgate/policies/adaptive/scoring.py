"""How well candidates have met the requirements, compared with each other (Pielech 2004, sections 5.2 and 5.3)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from headgate.policies.adaptive.choosers import Chooser, Roulette
from headgate.policies.adaptive.requirements import Requirement, statistics_of
from headgate.policies.adaptive.statistics import Interval, statistic_named, statistic_names
from headgate.stats.average import ExponentialAverage

TURNS = 500  # so many are kept, to be judged again when requirements change


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


def reward(requirements: Sequence[Requirement], means: Mapping[str, float], overall: Histories) -> float | None:
    """What a turn was worth: the weighted sum of where its means stand in the range of all samples, 1 for the best.

    Other than a score it does not depend on who ran before, so that turns can be compared. None: nothing is known.

    >>> wanted = [Requirement("queue", "minimize", 0.75), Requirement("output", "maximize", 0.25)]
    >>> overall = {"queue": History(0.0, 20.0), "output": History(0.0, 8.0)}
    >>> reward(wanted, {"queue": 5.0, "output": 8.0}, overall)  # 0.75 · (1 − 5/20) + 0.25 · 8/8
    0.8125
    """
    known = [wanted for wanted in requirements if wanted.statistic in means]
    weight = sum(wanted.weight for wanted in known)
    if not weight:
        return None
    total = 0.0
    for wanted in known:
        history = overall[wanted.statistic]
        place = (means[wanted.statistic] - history.least) / history.spread if history.spread else 0.5
        total += wanted.weight * (1.0 - place if wanted.quantifier == "minimize" else place)
    return min(1.0, max(0.0, total / weight))


class Selector:
    """Keeps the samples of all candidates, scores them and draws the next.

    Samples count for the candidate that ran, for all together, and for the present turn. All statistics are kept, not
    only those that are wanted now: requirements may change.
    """

    def __init__(
        self,
        candidates: int,
        requirements: Sequence[Requirement],
        decay: float,
        *,
        by_choices: bool,
        chooser: Chooser | None = None,
    ) -> None:
        self.requirements = tuple(requirements)
        self.scores: dict[int, float] = {}
        self.chooser = chooser or Roulette()
        self.turns: deque[tuple[int, dict[str, float]]] = deque(maxlen=TURNS)  # who had each, and what it came to
        self._names = tuple(dict.fromkeys((*statistics_of(requirements), *statistic_names())))
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
            value = statistic_named(name)(interval) if name in statistic_names() else None
            if value is not None:
                for histories in (self.overall, self.current, self.by_candidate[candidate]):
                    histories[name].add(value)

    def end_turn(self, candidate: int) -> None:
        """Take up what a turn was worth."""
        means = {name: history.mean for name, history in self.current.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        if known:
            self.turns.append((candidate, known))
            self._reward(candidate, known)

    def _reward(self, candidate: int, means: Mapping[str, float]) -> None:
        worth = reward(self.requirements, means, self.overall)
        if worth is not None:
            self.chooser.rewarded(candidate, worth)

    def succeed(self, former: Selector) -> None:
        """Go on with the samples of another one of the same candidates; its turns are judged by what is wanted now."""
        for name in former.overall.keys() & self.overall.keys():
            self.overall[name] = former.overall[name]
            self.current[name] = former.current[name]
            for mine, theirs in zip(self.by_candidate, former.by_candidate, strict=True):
                mine[name] = theirs[name]
        self.random = former.random
        self._choices, self._updated, self._chosen = former._choices, former._updated, former._chosen
        for candidate, means in former.turns:
            self.turns.append((candidate, means))
            self._reward(candidate, means)

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
        scores = {number: score for number, score in self.scores.items() if number not in avoid}
        return self.chooser.choose(self.random, scores)

    def _fading(self, candidate: int, now: float) -> float:
        age = self._choices - self._chosen[candidate] if self._by_choices else now - self._updated[candidate]
        return self._decay ** max(0.0, age)

    def _histories(self) -> dict[str, History]:
        return {name: History() for name in self._names}
