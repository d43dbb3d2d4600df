from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from headgate.model import (
    Choice,
    HeadgateError,
    Idle,
    Level,
    OperatorId,
    Outcome,
    QueueId,
    Run,
    Unit,
    UnitId,
    Why,
    WorkerId,
)
from headgate.plan.network import Network
from headgate.policies.adaptive.candidates import read_candidates, together
from headgate.policies.adaptive.choosers import CHOOSERS
from headgate.policies.adaptive.operator_tallies import OperatorTallies, OperatorTally
from headgate.policies.adaptive.requirements import TEMPLATES, read_requirements, statistics_of
from headgate.policies.adaptive.scoring import Selector
from headgate.policies.adaptive.statistics import Gathering
from headgate.policies.contract import Cut, Policy, View
from headgate.policies.registry import register
from headgate.policies.settings import Setting
from headgate.stats import Stats


@dataclass(frozen=True, slots=True)
class CandidateHistory:
    """What is known of a candidate."""

    policy: str
    turns: int  # of the latest ones that are kept
    means: Mapping[str, float | None]  # by statistic
    operators: Mapping[OperatorId, OperatorTally]  # what they did while it decided


_CANDIDATES = ["rr", "fifo", "mtiq", "chain"]  # those of the document's experiments


@register("adaptive")
class Adaptive(Policy):
    """Tries several policies and runs those more often that meet the requirements better.

    The first candidate warms up, then each runs for a moment, the first once more. From then on all are scored every
    two seconds and one is drawn, with a chance in proportion to its score: the best runs most, and the others often
    enough to be noticed when times change. It does not beat the best candidate at what that is best at; it is for
    requirements that no single policy meets, and for loads that change.

    >>> from headgate.policies.checks import Situation
    >>> chain = ["select, cost=1ms, name=first", "select, cost=1ms, name=second"]
    >>> situation = Situation({"q": chain}, waiting={"q": [3, 1]})
    >>> situation.order("adaptive, candidates=[mtiq, fifo]"), situation.order("adaptive, candidates=[fifo, mtiq]")
    (['first', 'second'], ['second', 'first'])

    Candidates of different levels each choose between the units of their own; the core keeps all of these, and units
    that share an operator never run at once, whoever chose them.

    >>> situation.order("adaptive, candidates=[(hr, level=query), mtiq]")
    ['q']
    """

    source = "Pielech 2004, sections 5.1 to 5.3 and 6"
    rule = "what the candidate says whose turn it is"
    levels = (Level.OPERATOR, Level.QUERY)
    settings = (
        Setting("candidates", _CANDIDATES, "the policies to choose among, those with settings in parentheses"),
        Setting("template", "balanced", "requirements that are known by a name", choices=tuple(TEMPLATES)),
        Setting("requirements", [], "instead of a template: [[statistic, maximize or minimize, weight], …]"),
        Setting("select", "roulette", "how the next candidate is chosen", choices=tuple(CHOOSERS)),
        Setting("dwell", 0.0, "seconds that a candidate stays at least, unless it finds no work", least=0.0),
        Setting("memory", 0.99, "ucb, thompson, exp3: what a later turn leaves of a reward", least=0.01, most=1.0),
        Setting("every", 2.0, "seconds between two draws", least=0.001),
        Setting("warmup", 5.0, "seconds of the first candidate before anything counts", least=0.0),
        Setting("explore", 1.0, "seconds of each candidate before the first draw", least=0.001),
        Setting("sample", 1.0, "seconds between two samples of the statistics", least=0.001),
        Setting("decay", 0.95, "what is left of a score's meaning after an age of 1", least=0.0, most=1.0),
        Setting("age", "time", "what ages scores: seconds, or choices of others", choices=("time", "choices")),
        Setting("starve", 3, "how often in a row a candidate may find no work where there is some", least=1),
    )

    template: str
    select: str
    dwell: float
    memory: float
    every: float
    warmup: float
    explore: float
    sample: float
    decay: float
    age: str
    starve: int

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if "requirements" in settings and "template" in settings:
            raise HeadgateError("template and requirements are both given", hint="keep one of them")
        wanted = read_requirements(settings["requirements"]) if settings.get("requirements") else None
        given = {name: value for name, value in settings.items() if name not in {own.name for own in self.settings}}
        value = settings.get("candidates", _CANDIDATES)
        self._candidates = read_candidates(value, given, drop="candidates" not in settings)
        if any(isinstance(candidate, Adaptive) for candidate in self._candidates):
            raise HeadgateError("adaptive is among its own candidates", hint="name its candidates here instead")
        levels = {candidate.level for candidate in self._candidates}
        self.level = levels.pop() if len(levels) == 1 else Level.OPERATOR
        self.needs = frozenset(need for candidate in self._candidates for need in candidate.needs)
        self.wants_answers = len(self._candidates) > 1 or self._candidates[0].wants_answers
        for candidate in self._candidates:
            candidate.tally = self.tally
        self._selector = Selector(
            len(self._candidates),
            wanted or TEMPLATES[self.template],
            self.decay,
            by_choices=self.age == "choices",
            chooser=CHOOSERS[self.select](len(self._candidates), self.memory),
        )
        self._tallies = [OperatorTallies() for _ in self._candidates]
        self._active = 0
        self._belonging: list[frozenset[UnitId]] | None = None  # units of each candidate; None: all units are of all
        self._begun = False
        self._since = 0.0  # when the active candidate took over
        self._until = 0.0  # when the turn under way ends
        self._gathering = Gathering()
        self._to_explore: list[int] = []
        self._counts = False  # not while warming up

    def seed(self, seed: int) -> None:
        self._selector.random = Random(f"wheel {seed}")
        for number, candidate in enumerate(self._candidates):
            candidate.seed(seed + number)

    def succeed(self, former: Policy) -> None:
        """Go on where another one with the same candidates stood, perhaps with other requirements."""
        if isinstance(former, Adaptive) and former.candidate_policies == self.candidate_policies:
            self._selector.succeed(former._selector)
            self._tallies, self._gathering = former._tallies, former._gathering
            self._active, self._begun, self._counts = former._active, former._begun, former._counts
            self._since, self._until, self._to_explore = former._since, former._until, former._to_explore

    @property
    def candidate_policies(self) -> list[str]:
        """The policies to choose among, as strings."""
        return [str(candidate) for candidate in self._candidates]

    def histories(self) -> list[CandidateHistory]:
        """What is known of each candidate: its turns, the means of its samples, and what operators did under it."""
        return [
            CandidateHistory(
                str(candidate),
                sum(1 for had, _ in self._selector.turns if had == number),
                {name: history.mean for name, history in self._selector.by_candidate[number].items()},
                self._tallies[number].operators,
            )
            for number, candidate in enumerate(self._candidates)
        ]

    # -- units: those of all candidates ------------------------------------------------------------------------

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        regrouped = [candidate.regroup(network, stats, cut) for candidate in self._candidates]
        if all(own is None for own in regrouped) and len({candidate.level for candidate in self._candidates}) == 1:
            self._belonging = None
            return None
        all_units, self._belonging = together(
            [
                (
                    candidate.level if own is None else None,
                    cut(candidate.level) if own is None else own,
                )
                for candidate, own in zip(self._candidates, regrouped, strict=True)
            ]
        )
        return all_units

    def _part(self, view: View, candidate: int) -> View:
        """What a candidate sees."""
        if self._belonging is None:
            return view
        mine = self._belonging[candidate]
        return view.only(lambda unit: unit.id in mine)

    def _is_mine(self, unit: Unit) -> bool:
        return self._belonging is None or unit.id in self._belonging[self._active]

    # -- as any policy -----------------------------------------------------------------------------------------

    def changed(self, view: View) -> None:
        if not self._begun:
            self._begin(view)
        for number, candidate in enumerate(self._candidates):
            candidate.changed(self._part(view, number))

    def ready(self, view: View, unit: Unit) -> None:
        # The others are told when their turn comes: until then they would only pile up what is long gone.
        if self._is_mine(unit):
            self._candidates[self._active].ready(self._part(view, self._active), unit)

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        self._candidates[self._active].grown(self._part(view, self._active), queues)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._gathering.add(outcome)
        self._tallies[self._active].add(outcome)
        if all(map(self._is_mine, run.units)):
            self._candidates[self._active].finished(self._part(view, self._active), run, outcome)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if len(self._candidates) == 1:
            return self._candidates[0].choose(self._part(view, 0), worker)
        self._on_time(view)
        answer = self._ask(view, worker)
        starved = {self._active}
        while self._starves(view, answer) and len(starved) < len(self._candidates):
            self._next_turn(view, avoid=starved)
            starved.add(self._active)
            answer = self._ask(view, worker)
        if isinstance(answer, Idle) and view.ready:
            # A run of the candidate before, of smaller units, blocks what this one could choose: until it ends.
            return Idle(min(answer.until, self._until))
        return answer

    def explain(self, view: View, choice: Choice) -> Why:
        candidate = self._candidates[self._active]
        why = candidate.explain(self._part(view, self._active), choice)
        if why.runner_up is None and (second := self.runner_up(view, {unit.id for unit in choice.units})) is not None:
            why = replace(why, runner_up=str(second), runner_up_numbers=self.numbers(view, second))
        wanted = statistics_of(self._selector.requirements)
        current = {f"current {name}": self._selector.current[name].mean for name in wanted}
        numbers = {"score": self._selector.scores.get(self._active), **current}
        scores = {name: value for name, value in numbers.items() if value is not None}
        return replace(why, policy=str(self), rule=f"{candidate}: {why.rule}", numbers={**why.numbers, **scores})

    def _ask(self, view: View, worker: WorkerId) -> Choice | Idle:
        """The candidate's answer, asked again where it finds nothing though something can run."""
        part, candidate = self._part(view, self._active), self._candidates[self._active]
        answer = candidate.choose(part, worker)
        for _ in range(self.starve - 1):
            if not self._starves(view, answer):
                break
            answer = candidate.choose(part, worker)
        return answer

    def _starves(self, view: View, answer: Choice | Idle) -> bool:
        return isinstance(answer, Idle) and bool(self._part(view, self._active).ready)

    # -- turns -------------------------------------------------------------------------------------------------

    def _begin(self, view: View) -> None:
        self._begun = True
        self._to_explore = [*range(len(self._candidates)), 0]
        self._gathering = Gathering(view.now)
        self._since, self._until = view.now, view.now + self.warmup
        self._selector.chosen(0)

    def _on_time(self, view: View) -> None:
        """Take a sample and end the turn, if it is time."""
        if view.now >= self._until:
            self._next_turn(view)
        elif view.now >= self._gathering.since + self.sample:
            self._take_sample(view)

    def _next_turn(self, view: View, avoid: Collection[int] = ()) -> None:
        """Give the turn to the next to be explored, or to the one that is drawn."""
        self._take_sample(view)
        if self._counts:
            self._selector.end_turn(self._active)
        self._counts = True
        while self._to_explore and self._to_explore[0] in avoid:
            self._to_explore.pop(0)
        if self._to_explore:
            following, lasts = self._to_explore.pop(0), max(self.explore, self.dwell)
        else:
            self._selector.rate(self._active, view.now)
            stays = not avoid and view.now < self._since + self.dwell
            following, lasts = self._active if stays else self._selector.draw(avoid), self.every
        self._until = view.now + lasts
        self._selector.chosen(following)
        if following != self._active:
            self._hand_over(view, following)

    def _hand_over(self, view: View, following: int) -> None:
        """Let another candidate take up the situation as it is."""
        self._active, self._since = following, view.now
        part, candidate = self._part(view, following), self._candidates[following]
        candidate.changed(part)
        for unit in list(part.ready.values()):
            candidate.ready(part, unit)

    def _take_sample(self, view: View) -> None:
        interval = self._gathering.close(view.now, _waiting(view))
        if self._counts and interval.seconds > 0:
            self._selector.sample(self._active, interval, view.now)
        self._gathering = Gathering(view.now)


def _waiting(view: View) -> int:
    """Tuples in all queues; one that is in several units counts once."""
    return sum(len(view.queue(queue)) for queue in {queue for unit in view.units.values() for queue in unit.queues})
