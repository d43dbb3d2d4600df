"""How the next candidate is chosen: by scores, or by the rewards of the turns before.

A reward is a number from 0 to 1 for every turn of a candidate. What is remembered of it shrinks with every later turn
by the factor `memory`, so that candidates are tried again when times have changed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from random import Random


class Chooser(ABC):
    """Chooses among candidates by their numbers."""

    def rewarded(self, candidate: int, reward: float) -> None:
        """A turn of a candidate has ended."""

    @abstractmethod
    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        """The next candidate, of those that have a score here."""


class Roulette(Chooser):
    """Draws with a chance in proportion to the scores; with nothing but zeros each is as likely as the others.

    >>> Roulette().choose(Random(1), {0: 0.0, 1: 0.4, 2: 0.0})
    1
    """

    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        numbers = sorted(scores)
        weights = [scores[number] for number in numbers]
        return random.choices(numbers, weights if any(weights) else None)[0]


class Best(Chooser):
    """The highest score, the first of equals; scores fade, so others have their turns too.

    >>> Best().choose(Random(1), {0: 0.3, 1: 0.7, 2: 0.7})
    1
    """

    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        return max(sorted(scores), key=lambda number: scores[number])


class Remembering(Chooser):
    """Keeps for each candidate how many turns it had and what they gave, older ones faded."""

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self.turns: dict[int, float] = {}
        self.rewards: dict[int, float] = {}  # sums

    def rewarded(self, candidate: int, reward: float) -> None:
        for faded in (self.turns, self.rewards):
            for number in faded:
                faded[number] *= self._memory
        self.turns[candidate] = self.turns.get(candidate, 0.0) + 1.0
        self.rewards[candidate] = self.rewards.get(candidate, 0.0) + reward


class UpperBound(Remembering):
    """The highest mean reward plus √(2 ln n / n_i) for the little that is known of it.

    This is UCB1 (Auer, Cesa-Bianchi, Fischer 2002), with n turns, n_i of them of the candidate. After
    rewards of 0.6 and 0.6 for one and 0.5 for the other: 0.6 + √(2 ln 3 / 2) = 1.65, and 0.5 + √(2 ln 3 / 1) = 1.98.

    >>> bound = UpperBound(memory=1.0)
    >>> for candidate, reward in ((0, 0.6), (0, 0.6), (1, 0.5)): bound.rewarded(candidate, reward)
    >>> [round(bound.value(candidate), 2) for candidate in (0, 1)], bound.choose(Random(1), {0: 0.0, 1: 0.0})
    ([1.65, 1.98], 1)
    """

    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        return max(sorted(scores), key=self.value)

    def value(self, candidate: int) -> float:
        """The bound of a candidate; infinite for one that had no turn yet."""
        turns = self.turns.get(candidate, 0.0)
        if not turns:
            return math.inf
        return self.rewards[candidate] / turns + math.sqrt(2 * math.log(max(1.0, sum(self.turns.values()))) / turns)


class Thompson(Remembering):
    """Draws a mean for each from what is believed of it, and takes the highest (Thompson 1933).

    The belief is Beta(1 + Σ r, 1 + Σ (1 − r)): after rewards of 1 and 0.5 Beta(2.5, 1.5), of which the mean is
    2.5 / 4. One of whom nothing is known may be anything from 0 to 1.

    >>> chooser = Thompson(memory=1.0)
    >>> for candidate, reward in ((0, 1.0), (0, 0.5)): chooser.rewarded(candidate, reward)
    >>> chooser.belief(0), chooser.belief(1)
    ((2.5, 1.5), (1.0, 1.0))
    """

    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        drawn = {number: random.betavariate(*self.belief(number)) for number in sorted(scores)}
        return max(drawn, key=lambda number: drawn[number])

    def belief(self, candidate: int) -> tuple[float, float]:
        """The two parameters of the candidate's Beta distribution."""
        gained = self.rewards.get(candidate, 0.0)
        return 1.0 + gained, 1.0 + max(0.0, self.turns.get(candidate, 0.0) - gained)


class Exp3(Chooser):
    """Draws by weights that grow with rewards, whatever these come from (Auer, Cesa-Bianchi, Freund, Schapire 2002).

    The chance of one of K is p = (1 − γ)·w/Σw + γ/K. A reward r multiplies its weight by e^(γ·r/(p·K)), which makes up
    for the few turns of those with a small chance. With two, γ = 0.1 and a first reward of 1: e^(0.1·1/(0.5·2)), so
    chances of 0.9·1.105/2.105 + 0.05 and the rest.

    >>> chooser = Exp3(memory=1.0, candidates=2)
    >>> chooser.rewarded(0, 1.0)
    >>> [round(chance, 4) for chance in chooser.chances()]
    [0.5225, 0.4775]
    """

    EVEN = 0.1  # γ: the share of turns that all have evenly

    def __init__(self, memory: float, candidates: int) -> None:
        self._memory = memory
        self._logs = [0.0] * candidates  # logarithms of the weights

    def chances(self) -> list[float]:
        """How likely each candidate is."""
        highest = max(self._logs)
        weights = [math.exp(log - highest) for log in self._logs]
        return [(1 - self.EVEN) * weight / sum(weights) + self.EVEN / len(weights) for weight in weights]

    def rewarded(self, candidate: int, reward: float) -> None:
        chance = self.chances()[candidate]
        self._logs = [log * self._memory for log in self._logs]
        self._logs[candidate] += self.EVEN * reward / (chance * len(self._logs))

    def choose(self, random: Random, scores: Mapping[int, float]) -> int:
        numbers, chances = sorted(scores), self.chances()
        return random.choices(numbers, [chances[number] for number in numbers])[0]


CHOOSERS: Mapping[str, Callable[[int, float], Chooser]] = {
    "roulette": lambda candidates, memory: Roulette(),
    "best": lambda candidates, memory: Best(),
    "ucb": lambda candidates, memory: UpperBound(memory),
    "thompson": lambda candidates, memory: Thompson(memory),
    "exp3": lambda candidates, memory: Exp3(memory, candidates),
}
