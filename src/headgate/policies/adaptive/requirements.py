"""What is wanted of a policy: statistics to make large or small, each with its weight (Pielech 2004, section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model import HeadgateError, Value
from headgate.policies.adaptive.statistics import statistic_named

QUANTIFIERS = ("maximize", "minimize")
_HINT = "write for example requirements=[[queue, minimize, 0.75], [output, maximize, 0.25]]"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A statistic, whether it should be large or small, and how much that matters."""

    statistic: str
    quantifier: str
    weight: float


# The default of section 5.1, the preference of its table 5.1, and the weights of the experiments in section 6.
TEMPLATES = {
    "balanced": (
        Requirement("queue", "minimize", 1 / 3),
        Requirement("delay", "minimize", 1 / 3),
        Requirement("output", "maximize", 1 / 3),
    ),
    "small-queues": (Requirement("queue", "minimize", 0.75), Requirement("output", "maximize", 0.25)),
    "short-delay": (Requirement("delay", "minimize", 0.7), Requirement("output", "maximize", 0.3)),
    "high-output": (Requirement("output", "maximize", 0.7), Requirement("delay", "minimize", 0.3)),
}


def read_requirements(value: Value) -> tuple[Requirement, ...]:
    """Requirements as a setting gives them.

    >>> read_requirements([["queue", "minimize", 0.75], ["output", "maximize", 0.25]]) == TEMPLATES["small-queues"]
    True
    >>> read_requirements([["queue", "minimize", 0.75]])
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: the weights of requirements must sum to 1, found 0.75; raise or lower them
    """
    if not isinstance(value, list) or not value:
        raise HeadgateError(f"requirements must be a list, found {value}", hint=_HINT)
    requirements = tuple(map(_read, value))
    total = sum(requirement.weight for requirement in requirements)
    if not math.isclose(total, 1.0, abs_tol=1e-6):
        raise HeadgateError(f"the weights of requirements must sum to 1, found {total:g}", hint="raise or lower them")
    return requirements


def _read(value: Value) -> Requirement:
    if not (isinstance(value, list) and len(value) == 3):
        raise HeadgateError(
            f"a requirement in requirements is a statistic, a quantifier, a weight: {value}", hint=_HINT
        )
    name, quantifier, weight = value
    statistic_named(_word(name))
    if quantifier not in QUANTIFIERS:
        raise HeadgateError(f"requirements maximize or minimize, found {quantifier}", hint=_HINT)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise HeadgateError(f"a weight in requirements must be a number from 0 to 1, found {weight}")
    return Requirement(_word(name), _word(quantifier), float(weight))


def _word(value: Value) -> str:
    return value if isinstance(value, str) else str(value)


def statistics_of(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """The statistics that requirements refer to, each once."""
    return tuple(dict.fromkeys(requirement.statistic for requirement in requirements))
