"""The settings that a sweep varies (`--vary load=0.5:0.9:0.1`), and a workload with given values of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import floor, inf, isfinite
from types import MappingProxyType

from headgate.model import HeadgateError, Spec, unknown
from headgate.sim.faster import faster, rate_of
from headgate.sim.load import scaled
from headgate.workload import Workload
from headgate.workload.schema import MOST_CORES

POLICY = "policy."  # before the name of a policy's setting
MAX_VALUES = 10_000  # of one setting; more are a typing error
_ROUNDING = 1e-9  # a step that misses the last value by this much still reaches it

SettingValues = tuple[float | str, ...]
Point = Mapping[str, float | str]  # a value for every varied setting


@dataclass(frozen=True, slots=True)
class WorkloadSetting:
    """A setting of the workload that a sweep can vary: its name in words, with its unit, and the values it may have."""

    words: str
    least: float
    above: bool  # the least value itself is not allowed
    whole: bool
    most: float = inf


WORKLOAD_SETTINGS: Mapping[str, WorkloadSetting] = MappingProxyType(
    {
        "load": WorkloadSetting("load (share of the cores' time)", 0.0, above=True, whole=False),
        "rate": WorkloadSetting("mean rate of every stream (tuples/s)", 0.0, above=True, whole=False),
        "cores": WorkloadSetting("cores", 1, above=False, whole=True, most=MOST_CORES),
        "seed": WorkloadSetting("seed", 0, above=False, whole=True),
    }
)


@dataclass(frozen=True, slots=True)
class Vary:
    """A setting and its values.

    >>> Vary.parse("load=0.5:0.7:0.1")
    Vary(name='load', values=(0.5, 0.6, 0.7))
    >>> Vary.parse("policy.clustering=log,uniform").values
    ('log', 'uniform')
    >>> Vary.parse("cores=0,1")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: --vary cores must be a whole number of at least 1, found 0
    """

    name: str
    values: SettingValues

    @classmethod
    def parse(cls, text: str) -> Vary:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise HeadgateError(f"--vary cannot read '{text}'", hint="write load=0.5:1.0:0.05 or cores=1,2,4")
        if name not in WORKLOAD_SETTINGS and not (name.startswith(POLICY) and len(name) > len(POLICY)):
            raise unknown("setting to vary", name, [*WORKLOAD_SETTINGS, f"{POLICY}SETTING"])
        parsed = _range(name, values) if ":" in values else tuple(_value(part.strip()) for part in values.split(","))
        if name in WORKLOAD_SETTINGS:
            parsed = tuple(_within(name, value) for value in parsed)
        return cls(name, tuple(dict.fromkeys(parsed)))


def setting_words(name: str) -> str:
    """A varied setting in words.

    >>> setting_words("rate"), setting_words("policy.clusters")
    ('mean rate of every stream (tuples/s)', 'clusters (setting of the policies)')
    """
    return (
        WORKLOAD_SETTINGS[name].words
        if name in WORKLOAD_SETTINGS
        else f"{name.removeprefix(POLICY)} (setting of the policies)"
    )


def points(varied: Sequence[Vary]) -> Iterator[Point]:
    """Every combination of values.

    >>> [dict(point) for point in points([Vary("load", (0.5, 0.9)), Vary("cores", (1,))])]
    [{'load': 0.5, 'cores': 1}, {'load': 0.9, 'cores': 1}]
    """
    names = [setting.name for setting in varied]
    for values in product(*(setting.values for setting in varied)):
        yield dict(zip(names, values, strict=True))


def varied_policy(policy: str, point: Point) -> str:
    """The policy with the point's values of its settings.

    >>> varied_policy("bsd", {"load": 0.9, "policy.clusters": 12})
    'bsd, clusters=12'
    """
    own = {name.removeprefix(POLICY): value for name, value in point.items() if name.startswith(POLICY)}
    given = Spec.parse(policy).settings
    if twice := next((name for name in own if name in given), None):
        raise HeadgateError(f"--vary {POLICY}{twice} and '{policy}' both set {twice}", hint="keep one of them")
    return ", ".join([policy, *(f"{name}={value}" for name, value in own.items())])


def varied(workload: Workload, point: Point) -> Workload:
    """The workload with a point's values.

    A varied load is reached at the point's rates and cores. A load that the file asks for is reached at the file's
    rates and cores; costs then stay, so that a higher rate or fewer cores mean more load.
    """
    result = workload if "load" in point else scaled(workload)
    if "rate" in point:
        result = _at_rate(result, float(point["rate"]))
    for name, read in _PLAIN.items():
        if name in point:
            result = replace(result, **{name: read(point[name])})  # type: ignore[arg-type]
    return result


_PLAIN: Mapping[str, Callable[[float | str], float | int]] = {"load": float, "cores": int, "seed": int}


def _at_rate(workload: Workload, rate: float) -> Workload:
    """All streams at one rate in the long run."""
    factors = {stream.name: rate / rate_of(stream, workload, "--vary rate") for stream in workload.streams}
    return faster(workload, factors)


def _range(name: str, text: str) -> SettingValues:
    """The values of low:high:step, both ends included; rounded, so that 0.1 three times is 0.3."""
    numbers = [_value(part.strip()) for part in text.split(":")]
    if len(numbers) != 3 or any(isinstance(number, str) for number in numbers):
        raise HeadgateError(f"--vary {name} cannot read '{text}'", hint="write low:high:step, as 0.5:1.0:0.05")
    low, high, step = (float(number) for number in numbers)
    if not step > 0 or high < low:
        raise HeadgateError(f"--vary {name}={text} has no values", hint="let it rise: low:high:step, step above 0")
    count = floor((high - low) / step + _ROUNDING) + 1
    if count > MAX_VALUES:
        raise HeadgateError(f"--vary {name} has {count} values, more than {MAX_VALUES}", hint="take larger steps")
    whole = all(isinstance(number, int) for number in numbers)
    values = (low + number * step for number in range(count))
    return tuple(round(value) if whole else round(value, 12) for value in values)


def _value(text: str) -> float | str:
    """A number if it is one: whole where it is written so."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _within(name: str, value: float | str) -> float:
    rule = WORKLOAD_SETTINGS[name]
    number = value if not isinstance(value, str) and isfinite(value) else None
    if number is not None and number <= rule.most and (number > rule.least if rule.above else number >= rule.least):
        if not rule.whole:
            return float(number)
        if number == int(number):
            return int(number)
    kind = "a whole number" if rule.whole else "a number"
    bound = f"above {rule.least:g}" if rule.above else f"of at least {rule.least:g}"
    if number is not None and number > rule.most:
        bound = f"of at most {rule.most:g}"
    raise HeadgateError(f"--vary {name} must be {kind} {bound}, found {value}")
