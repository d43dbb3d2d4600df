"""Results of one operator that wait for the next, as a stream of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.model import Stream, Window
from headgate.plan.sharing import Place

Ref = tuple[str, ...]  # sensors.window.start: ("sensors", "window", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentStream(Stream):
    """A stream between two operators of one query. It may have several event times, or none."""

    below: tuple[Place, ...]  # the streams that it is made of: leaves of the plan, seen from the operator that gives it
    refs: tuple[Ref, ...]  # what the operators above call its columns
    types: pa.Schema  # of these columns, as `c0`, `c1`, …
    times: tuple[Ref, ...] = ()  # the event times that the operators above ask for
    windows: Mapping[Ref, tuple[Window, bool]] = field(default_factory=dict)  # times that are a window's start or end


def event_times(stream: Stream) -> tuple[Ref, ...]:
    """What may be called the event time of a stream's tuples.

    >>> event_times(Stream(name="s", event_time="ts"))
    (('ts',),)
    """
    if isinstance(stream, FragmentStream):
        return stream.times
    return () if stream.event_time is None else ((stream.event_time,),)
