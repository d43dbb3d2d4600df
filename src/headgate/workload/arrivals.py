"""How a stream's tuples arrive: the kinds and their settings. The simulator gives them their meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf
from types import MappingProxyType

from headgate.model import HeadgateError, unknown
from headgate.model.stream import AHEAD
from headgate.workload.settings import Settings

MOST_BATCH = 1_000_000  # tuples that arrive together
MOST_SOURCES = 10_000  # on/off sources of one stream


@dataclass(frozen=True, slots=True)
class ArrivalKind:
    """A kind of arrivals: which settings it has, and whether it has a rate and never ends."""

    settings: tuple[str, ...]
    check: Callable[[Settings], None]
    open_ended: bool = True


def _at(settings: Settings) -> None:
    settings.need("times", "[0, 5ms]")
    if not settings.durations("times"):
        raise HeadgateError("times is empty", hint="write for example times=[0, 5ms]")


def _rate(settings: Settings) -> None:
    settings.need("rate", "100")
    settings.number("rate", above=0.0)


def _constant(settings: Settings) -> None:
    _rate(settings)
    settings.duration("start")


def _onoff(settings: Settings) -> None:
    _rate(settings)
    for key in ("on", "off"):
        settings.duration(key, above=0.0)
    settings.number("shape", above=1.0)
    settings.whole("sources", low=1, high=MOST_SOURCES)


def _steps(settings: Settings) -> None:
    settings.need("rates", "[100, 500]")
    rates = settings.numbers("rates", low=0.0)
    if not rates:
        raise HeadgateError("rates is empty", hint="write for example rates=[100, 500]")
    if ("every" in settings) == ("at" in settings):
        raise HeadgateError("steps needs every or at, one of them", hint="write every=5s, or at=[0, 5s] for each rate")
    settings.duration("every", above=0.0)
    if "at" in settings:
        _check_starts(settings.durations("at"), len(rates))
    if settings.word("kind") not in (None, "constant", "poisson"):
        raise unknown("kind of steps", str(settings.word("kind")), ("constant", "poisson"))


def _check_starts(starts: list[float], rates: int) -> None:
    if len(starts) != rates:
        raise HeadgateError(f"at must have one time for each of the {rates} rates", hint="correct at or rates")
    if starts[0] != 0.0 or any(after <= before for before, after in pairwise(starts)):
        raise HeadgateError("at must rise from 0", hint="write for example at=[0, 5s]")


def _trace(settings: Settings) -> None:
    settings.need("file", "arrivals.csv")


ARRIVALS = MappingProxyType(
    {
        "at": ArrivalKind(("times", "batch"), _at, open_ended=False),
        "constant": ArrivalKind(("rate", "start", "batch"), _constant),
        "poisson": ArrivalKind(("rate", "batch"), _rate),
        "onoff": ArrivalKind(("rate", "on", "off", "shape", "sources", "batch"), _onoff),
        "steps": ArrivalKind(("rates", "every", "at", "kind", "batch"), _steps),
        "trace": ArrivalKind(("file", "column", "batch"), _trace, open_ended=False),
    }
)


def read_arrivals(text: str) -> Settings:
    """The settings of a string that the simulator can make sense of.

    >>> read_arrivals("onoff, rate=100, on=1s").number("rate")
    100.0
    >>> read_arrivals("poison, rate=100")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: unknown kind of arrivals 'poison'; did you mean 'poisson'?
    """
    settings = Settings(text)
    if settings.name not in ARRIVALS:
        raise unknown("kind of arrivals", settings.name, ARRIVALS)
    kind = ARRIVALS[settings.name]
    settings.only(kind.settings)
    settings.whole("batch", low=1, high=MOST_BATCH)
    kind.check(settings)
    return settings


def over(text: str) -> float:
    """The whole second at which all tuples have arrived; inf where that cannot be told.

    >>> over("at, times=[0, 2500ms]"), over("poisson, rate=100")
    (3.0, inf)
    """
    settings = Settings(text)
    return floor(max(settings.durations("times"))) + 1.0 if settings.name == "at" else inf


def open_ended(text: str) -> bool:
    """Whether arrivals go on for ever, at a rate that a change may set.

    >>> open_ended("poisson, rate=100"), open_ended("at, times=[0]")
    (True, False)
    """
    return ARRIVALS[Settings(text).name].open_ended


def usual_ahead(source: str | None) -> float:
    """How far event times may be ahead of their arrivals unless a stream says so itself.

    What is made up or played back has event times of its own, right or not; what comes from outside may be wrong.

    >>> usual_ahead("poisson, rate=100"), usual_ahead("socket, port=9999"), usual_ahead(None)
    (inf, 3600.0, 3600.0)
    """
    is_synthetic = source is not None and source.partition(",")[0].strip() in ARRIVALS
    return inf if is_synthetic else AHEAD
