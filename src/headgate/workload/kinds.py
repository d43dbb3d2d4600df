"""The kinds of operators: how many inputs, which settings, which selectivities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any

from headgate.model import (
    Aggregate,
    Except,
    Given,
    HeadgateError,
    Join,
    Kind,
    Operator,
    Project,
    Select,
    Source,
    Split,
    TableJoin,
    Union,
    Window,
    unknown,
    walk,
)
from headgate.plan.sql.bounds import check_windows
from headgate.workload.settings import Settings

GIVEN = ("cost", "overhead", "selectivity", "bytes")
PLACED = ("name", "as", "from")
OUTCOMES = ("pass", "attribute")
TOLERANCE = 0.05  # by which a pattern and a selectivity may differ: 1/3 may be written 0.33

Make = Callable[..., Operator]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind of operator asks for."""

    make: Make
    fewest: int = 1
    most: float = 1
    selectivity: tuple[float, float] = (0.0, 1.0)
    settings: tuple[str, ...] = ()

    @property
    def setting_names(self) -> tuple[str, ...]:
        return (*GIVEN, *self.settings, *PLACED)

    @property
    def inputs(self) -> str:
        """How many inputs, in words."""
        if self.most == inf:
            return f"{self.fewest} inputs or more"
        return "1 input" if self.fewest == 1 else f"{self.fewest} inputs"


RULES = MappingProxyType(
    {
        Kind.SELECT: Rule(Select, settings=OUTCOMES),
        Kind.PROJECT: Rule(Project, selectivity=(1.0, 1.0)),
        Kind.SPLIT: Rule(Split),
        Kind.TABLE_JOIN: Rule(TableJoin, selectivity=(0.0, inf), settings=OUTCOMES),
        Kind.JOIN: Rule(Join, 2, 2, settings=("window", "tuples")),
        Kind.AGGREGATE: Rule(Aggregate, settings=("window", "slide")),
        Kind.UNION: Rule(Union, 2, inf, selectivity=(1.0, 1.0)),
        Kind.EXCEPT: Rule(Except, 2, 2, settings=("window",)),
    }
)


def kind_of(name: str) -> Kind:
    """The kind that a word names."""
    if name not in RULES:
        raise unknown("operator kind", name, RULES)
    return Kind(name)


def check_settings(kind: Kind, settings: Settings) -> None:
    """Refuse settings that this kind does not have.

    >>> check_settings(Kind.PROJECT, Settings("project, pass=[true]"))
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: a project has no pass; only select and table-join can have one
    """
    for key in ("window", "slide", "tuples", *OUTCOMES):
        if key in settings and key not in RULES[kind].settings:
            having = " and ".join(other for other, rule in RULES.items() if key in rule.settings)
            raise HeadgateError(f"a {kind} has no {key}", hint=f"only {having} can have one")
    settings.only(RULES[kind].setting_names)


def make(kind: Kind, settings: Settings, inputs: tuple[Operator | Source, ...], name: str | None) -> Operator:
    """An operator of the plan, given by cost.

    >>> make(Kind.JOIN, Settings("join, cost=1ms, window=10s"), (Source("a"), Source("b")), None).reach
    (10.0, 10.0)
    """
    common: dict[str, Any] = {"inputs": inputs, "name": name, "given": given(kind, settings)}
    if kind is Kind.JOIN:
        size = inf if _counted(settings, inputs) else _window(settings)
        return Join(lower=-size, upper=size, **common)
    if kind is Kind.EXCEPT:
        return Except(window=Window(_window(settings)), **common)
    if kind is Kind.AGGREGATE:
        return Aggregate(window=_sliding(settings), **common)
    return RULES[kind].make(**common)


def given(kind: Kind, settings: Settings) -> Given:
    """What the settings say of an operator's cost and outcome.

    >>> given(Kind.PROJECT, Settings("project, selectivity=0.5"))
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: selectivity must be 1, found 0.5; correct selectivity
    """
    low, high = RULES[kind].selectivity
    passes, attribute = settings.flags("pass"), settings.named("attribute")
    selectivity = settings.number("selectivity", low, high)
    _check_outcome(passes, attribute, selectivity)
    return Given(
        cost=settings.duration("cost") or 0.0,
        overhead=settings.duration("overhead") or 0.0,
        selectivity=selectivity,
        passes=passes,
        attribute=attribute,
        tuples=settings.whole("tuples", low=1) or 0,
        bytes=settings.whole("bytes", low=0),
    )


def _check_outcome(passes: tuple[bool, ...], attribute: str | None, selectivity: float | None) -> None:
    if passes and attribute is not None:
        raise HeadgateError("pass and attribute both decide which tuples pass", hint="keep one of them")
    if attribute is not None and (selectivity is None or selectivity > 1.0):
        raise HeadgateError("attribute needs a selectivity from 0 to 1", hint="write for example selectivity=0.5")
    if passes and selectivity is not None and abs(sum(passes) / len(passes) - selectivity) > TOLERANCE:
        share = sum(passes) / len(passes)
        message = f"pass lets {share:.3g} of the tuples through, but selectivity is {selectivity:g}"
        raise HeadgateError(message, hint="correct one of them, or leave selectivity out")


def _counted(settings: Settings, inputs: Iterable[Operator | Source]) -> bool:
    """Whether windows are counted in tuples of the streams, whose numbers must still be known at the join."""
    if "tuples" not in settings:
        return False
    if "window" in settings:
        raise HeadgateError("window and tuples both say how long a window is", hint="keep one of them")
    for node in (node for below in inputs for node in walk(below)):
        if not isinstance(node, Source | Select | Project | Split):
            hint = "write window=10s, or put it above select, project and split only"
            raise HeadgateError(f"tuples are not counted behind a {node.kind}", hint=hint)
    return True


def _window(settings: Settings) -> float:
    settings.need("window", "10s")
    size = settings.duration("window", above=0.0)
    assert size is not None  # it was needed above
    return size


def _sliding(settings: Settings) -> Window:
    size, slide = _window(settings), settings.duration("slide", above=0.0)
    if slide is not None and slide > size:
        message = f"windows of {size:g} s every {slide:g} s leave gaps"
        raise HeadgateError(message, hint="slide by at most the window")
    check_windows(size, slide or size, "")
    return Window(size, slide or 0.0)
