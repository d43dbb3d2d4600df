"""When tuples arrive: `at`, `constant`, `poisson`, `onoff`, `steps`, `trace`."""

from __future__ import annotations

import csv
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headgate.model import HeadgateError, Spec, unknown

Times = npt.NDArray[np.float64]


class Arrivals(ABC):
    """A process of arrival times; `batch` tuples arrive at each."""

    batch: int = 1

    @property
    @abstractmethod
    def rate(self) -> float:
        """Tuples per second in the long run; 0 where there is no long run."""

    @abstractmethod
    def times(self, duration: float, random: np.random.Generator) -> Times:
        """Rising arrival times in [0, duration)."""


@dataclass(frozen=True)
class At(Arrivals):
    """At given times."""

    moments: tuple[float, ...]
    batch: int = 1

    @property
    def rate(self) -> float:
        span = max(self.moments, default=0.0) - min(self.moments, default=0.0)
        return self.batch * (len(self.moments) - 1) / span if span else 0.0

    def times(self, duration: float, random: np.random.Generator) -> Times:
        return np.sort(np.array([moment for moment in self.moments if moment < duration]))


@dataclass(frozen=True)
class Constant(Arrivals):
    """Evenly spaced, the first at `start`.

    >>> Constant(per_second=2.0).times(2.0, np.random.default_rng(0)).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """

    per_second: float
    start: float = 0.0
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def times(self, duration: float, random: np.random.Generator) -> Times:
        count = max(0, math.ceil((duration - self.start) * self.per_second - 1e-9))
        return self.start + np.arange(count) / self.per_second


@dataclass(frozen=True)
class Poisson(Arrivals):
    """Independent of each other."""

    per_second: float
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def times(self, duration: float, random: np.random.Generator) -> Times:
        return _until(duration, lambda count: random.exponential(1 / self.per_second, count), self.per_second)


@dataclass(frozen=True)
class OnOff(Arrivals):
    """Bursts: Poisson while on, silent while off; both periods are Pareto, so some are very long.

    `rate` is the long-run mean, `on` and `off` the mean lengths, `shape` the tail: near 1 heavy, above 2 mild.
    """

    per_second: float
    on: float = 0.1
    off: float = 0.1
    shape: float = 1.5
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def times(self, duration: float, random: np.random.Generator) -> Times:
        share = self.on / (self.on + self.off)
        found: list[Times] = []
        now = 0.0
        while now < duration:
            burst, silence = self._pareto(self.on, random), self._pareto(self.off, random)
            count = random.poisson(self.per_second / share * burst)
            found.append(now + np.sort(random.uniform(0.0, burst, count)))
            now += burst + silence
        times = np.concatenate(found) if found else np.empty(0)
        return times[times < duration]

    def _pareto(self, mean: float, random: np.random.Generator) -> float:
        return mean * (self.shape - 1) / self.shape * (1.0 + random.pareto(self.shape))


@dataclass(frozen=True)
class Steps(Arrivals):
    """Rates that hold for a while each and then begin again: Poisson, or evenly spaced with `kind=constant`."""

    rates: tuple[float, ...]
    starts: tuple[float, ...]  # when each rate begins; the last one holds as long as the one before it
    kind: str = "poisson"
    batch: int = 1

    @property
    def _period(self) -> float:
        last = self.starts[-1] - self.starts[-2] if len(self.starts) > 1 else math.inf
        return self.starts[-1] + last

    @property
    def rate(self) -> float:
        if len(self.rates) == 1:
            return self.rates[0] * self.batch
        lengths = np.diff([*self.starts, self._period])
        return float(np.dot(self.rates, lengths) / lengths.sum()) * self.batch

    def times(self, duration: float, random: np.random.Generator) -> Times:
        starts, rates = _repeat(self.starts, self.rates, self._period, duration)
        work = _integrated(starts, rates, duration)
        gaps: Callable[[int], Times] = (
            (lambda count: np.ones(count))
            if self.kind == "constant"
            else (lambda count: random.exponential(1.0, count))
        )
        return _warped(_until(work[-1], gaps, 1.0), starts, rates)


@dataclass(frozen=True)
class Trace(Arrivals):
    """Recorded arrival times: one number per line, or the named column of a CSV, JSON-lines or Parquet file."""

    file: Path
    column: str = "arrival"
    batch: int = 1

    @property
    def rate(self) -> float:
        times = self._read()
        span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
        return self.batch * (len(times) - 1) / span if span else 0.0

    def times(self, duration: float, random: np.random.Generator) -> Times:
        times = self._read()
        return times[times < duration]

    def _read(self) -> Times:
        try:
            return np.sort(np.array(_column(self.file, self.column), dtype=np.float64))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HeadgateError(
                f"cannot read arrival times from '{self.file}': {error}",
                hint=f"give a text, CSV, JSON-lines or Parquet file with a column '{self.column}' of seconds",
            ) from None


def arrivals(text: str, directory: Path = Path()) -> Arrivals:
    """The process that a string describes.

    >>> arrivals("poisson, rate=1200")
    Poisson(per_second=1200.0, batch=1)
    """
    spec = Spec.parse(text)
    makers: dict[str, tuple[Callable[..., Arrivals], tuple[str, ...]]] = {
        "at": (lambda times, batch=1: At(tuple(map(float, times)), batch), ("times", "batch")),
        "constant": (lambda rate, start=0.0, batch=1: Constant(rate, start, batch), ("rate", "start", "batch")),
        "poisson": (lambda rate, batch=1: Poisson(rate, batch), ("rate", "batch")),
        "onoff": (
            lambda rate, on=0.1, off=0.1, shape=1.5, batch=1: OnOff(rate, on, off, shape, batch),
            ("rate", "on", "off", "shape", "batch"),
        ),
        "steps": (_steps, ("rates", "every", "at", "kind", "batch")),
        "trace": (
            lambda file, column="arrival", batch=1: Trace(directory / file, column, batch),
            ("file", "column", "batch"),
        ),
    }
    if spec.name not in makers:
        raise unknown("kind of arrivals", spec.name, makers)
    make, known = makers[spec.name]
    spec.only(known)
    settings: dict[str, Any] = dict(spec.settings)
    _check(text, settings)
    try:
        return make(**settings)
    except TypeError:
        needed = {"at": "times", "steps": "rates", "trace": "file"}.get(spec.name, "rate")
        raise HeadgateError(f"arrivals '{text}' lack a setting", hint=f"add {needed}=…") from None


def rescaled(times: Times, starts: Sequence[float], factors: Sequence[float]) -> Times:
    """The same arrivals on a clock that runs `factor` times as fast from each start on: how rates change.

    >>> rescaled(np.array([0.0, 1.0, 2.0, 3.0]), [0.0, 2.0], [1.0, 2.0]).tolist()
    [0.0, 1.0, 2.0, 2.5]
    """
    return _warped(times, np.asarray(starts, dtype=float), np.asarray(factors, dtype=float))


def _check(text: str, settings: dict[str, Any]) -> None:
    for key in ("rate", "on", "off", "every", "batch", "shape"):
        if key not in settings:
            continue
        value = settings[key]
        least = 1.0 if key == "shape" else 0.0
        if not _number(value) or value <= least:
            raise HeadgateError(f"{key} must be a number above {least:g}, found {value} in '{text}'")
        if key not in ("batch",):
            settings[key] = float(value)
    if not isinstance(settings.get("batch", 1), int):
        raise HeadgateError(f"batch must be a whole number, found {settings['batch']} in '{text}'")
    if not _number(settings.get("start", 0.0)):
        raise HeadgateError(f"start must be a number, not below 0, found {settings['start']} in '{text}'")
    for key in ("times", "rates", "at"):
        value = settings.get(key)
        if value is not None and not (isinstance(value, list) and all(_number(item) for item in value) and value):
            raise HeadgateError(f"{key} must be a list of numbers, not below 0, found {value} in '{text}'")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _steps(
    rates: list[float],
    every: float | None = None,
    at: list[float] | None = None,
    kind: str = "poisson",
    batch: int = 1,
) -> Steps:
    if (every is None) == (at is None):
        raise HeadgateError("steps need either every=… or at=[…]", hint="write steps, rates=[100, 500], every=5s")
    starts = at if at is not None else [every * number for number in range(len(rates))]  # type: ignore[operator]
    if len(starts) != len(rates) or starts[0] != 0 or sorted(set(starts)) != starts:
        raise HeadgateError("steps need one rising start per rate, the first at 0", hint="write at=[0s, 5s]")
    if kind not in ("poisson", "constant"):
        raise HeadgateError(f"kind must be poisson or constant, found {kind}")
    return Steps(tuple(map(float, rates)), tuple(map(float, starts)), kind, batch)


def _until(end: float, gaps: Callable[[int], Times], rate: float) -> Times:
    """Sums of gaps up to an end, drawn in blocks."""
    found: list[Times] = []
    now = 0.0
    while now < end:
        block = now + np.cumsum(gaps(max(16, int((end - now) * rate * 1.1))))
        found.append(block)
        now = float(block[-1])
    times = np.concatenate(found) if found else np.empty(0)
    return times[times < end]


def _repeat(starts: Sequence[float], rates: Sequence[float], period: float, duration: float) -> tuple[Times, Times]:
    rounds = 1 if math.isinf(period) else max(1, math.ceil(duration / period))
    begins = np.concatenate([np.array(starts) + (number * period if number else 0.0) for number in range(rounds)])
    return begins, np.tile(np.array(rates, dtype=float), rounds)


def _integrated(starts: Times, rates: Times, end: float) -> Times:
    """How much has arrived at each start and at the end."""
    lengths = np.diff(np.append(starts, max(end, starts[-1])))
    lengths = np.minimum(lengths, np.maximum(0.0, end - starts))
    return np.append(0.0, np.cumsum(lengths * rates))


def _warped(work: Times, starts: Times, rates: Times) -> Times:
    """When that much has arrived, under rates that change."""
    reached = np.append(0.0, np.cumsum(np.diff(starts) * rates[:-1]))
    step = np.searchsorted(reached, work, side="right") - 1
    silent = rates[step] <= 0
    times = starts[step] + np.divide(work - reached[step], rates[step], out=np.zeros_like(work), where=~silent)
    return np.where(silent, np.inf, times)


def _column(file: Path, column: str) -> list[float]:
    if file.suffix == ".parquet":
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(file, columns=[column])[column].to_pylist())
    with file.open(encoding="utf-8") as lines:
        if file.suffix == ".csv":
            return [float(row[column]) for row in csv.DictReader(lines)]
        if file.suffix in (".jsonl", ".ndjson"):
            return [float(json.loads(line)[column]) for line in lines if line.strip()]
        return [float(line) for line in lines if line.strip()]
