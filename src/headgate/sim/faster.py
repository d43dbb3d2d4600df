"""A workload whose tuples arrive at other rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.model import HeadgateError, Stream
from headgate.model.spec import parts
from headgate.sim.arrivals import arrivals
from headgate.workload import Workload
from headgate.workload.arrivals import open_ended


def faster(workload: Workload, factors: Mapping[str, float]) -> Workload:
    """The workload with each stream's rates multiplied; steps and changes keep their proportions and their times."""
    streams = tuple(replace(stream, arrivals=_faster(stream, factors[stream.name])) for stream in workload.streams)
    changes = tuple(
        change if change.rate is None else replace(change, rate=change.rate * factors[str(change.stream)])
        for change in workload.changes
    )
    return replace(workload, streams=streams, changes=changes)


def rate_of(stream: Stream, workload: Workload, asked: str) -> float:
    """The rate of a stream, which must have one; `asked` says who wants to change it."""
    if stream.arrivals is None or not open_ended(stream.arrivals):
        hint = 'give it arrivals with a rate, as "poisson, rate=100"'
        raise HeadgateError(f"{asked}: stream '{stream.name}' has no rate", hint=hint)
    return arrivals(stream.arrivals, workload.directory).rate


def _faster(stream: Stream, factor: float) -> str:
    name, *settings = (part.strip() for part in parts(str(stream.arrivals)))
    return ", ".join([name, *(_multiplied(setting, factor) for setting in settings)])


def _multiplied(setting: str, factor: float) -> str:
    key, _, value = (part.strip() for part in setting.partition("="))
    if key == "rate":
        return f"rate={float(value) * factor!r}"
    if key == "rates":
        return f"rates=[{', '.join(repr(float(rate) * factor) for rate in value.strip('[] ').split(','))}]"
    return setting
