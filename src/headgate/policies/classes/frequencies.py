"""How often classes run."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.model import ClassId, Outcome, Run
from headgate.policies.classes.inversion import MODULES, Module, victims
from headgate.policies.classes.ranking import whole
from headgate.policies.classes.responses import LEVELS, Responses
from headgate.policies.settings import Setting

HIGHEST = 10_000  # an inversion that cannot be removed must not lengthen the schedule for ever


AT = Setting("at", "mean", "the response time that must not be inverted", choices=LEVELS)
EQUAL = Setting("equal", False, "whether a class that answers just as late as a lesser one is inverted too")


def inversion_setting(usual: str, *more: str) -> Setting:
    """The setting that chooses an inversion module; `more` are choices that only some policies have."""
    return Setting("inversion", usual, "what to do about priority inversion", choices=(*more, "none", *MODULES))


class Frequencies:
    """The running frequency of every class: at first its priority, then what an inversion module makes of it.

    >>> from headgate.policies.classes.inversion import dsp
    >>> frequencies = Frequencies(dsp)
    >>> frequencies.follow({"gold": 3.0, "tin": 2.0})
    True
    >>> frequencies.responses.add("gold", [0.2]), frequencies.responses.add("tin", [0.1])
    (None, None)
    >>> frequencies.judge(), frequencies.of
    (True, {'gold': 3, 'tin': 1})
    """

    def __init__(self, module: Module | None, at: str = "mean", equal: bool = False) -> None:
        self.of: dict[ClassId, int] = {}
        self.responses = Responses(at)
        self._module = module
        self._equal = equal  # answering just as late is an inversion
        self._priorities: dict[ClassId, float] = {}

    def follow(self, priorities: Mapping[ClassId, float]) -> bool:
        """Start from priorities, the highest first; whether they are new."""
        if priorities == self._priorities:
            return False
        self._priorities = dict(priorities)
        self.of = whole(priorities)
        self.responses.forget()
        return True

    def heard(self, run: Run, outcome: Outcome) -> None:
        """Results count for the class that pays for the run."""
        for answered in outcome.answered:
            self.responses.add(run.units[0].payer, answered.response_times)

    def judge(self) -> bool:
        """Let the module act on the response times since the last time; whether a frequency is new."""
        response_times = self.responses.means()
        self.responses.forget()
        names, ranks = list(self._priorities), list(self._priorities.values())
        slow = victims(names, ranks, response_times, self._equal)
        if self._module is None or not slow:
            return False
        changed = self._module(list(self.of.values()), ranks, slow)
        if max(changed) > HIGHEST:
            return False
        self.of = dict(zip(names, changed, strict=True))
        return True
