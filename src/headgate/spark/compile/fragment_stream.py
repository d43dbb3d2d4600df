"""The stream between two fragments of a query: what one fragment's last operator gives and the next one reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.model import Stream, Window
from headgate.plan.places import Place

# A reference to a column, or to a field of one, as its parts: `sensors.window.start` is ("sensors", "window", "start").
Ref = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentStream(Stream):
    """A stream between two fragments of one query. It may have several event times, or none."""

    below: tuple[Place, ...]  # the leaves it is made of, as places seen from the operator that gives it
    refs: tuple[Ref, ...]  # what the operators above call its columns
    types: pa.Schema  # of these columns, as `c0`, `c1`, …
    times: tuple[Ref, ...] = ()  # the event times that the operators above ask for
    windows: Mapping[Ref, tuple[Window, bool]] = field(default_factory=dict)  # those that are a window's start or end


def event_times(stream: Stream) -> tuple[Ref, ...]:
    """The columns of a stream that are event times.

    >>> event_times(Stream(name="s", event_time="ts"))
    (('ts',),)
    """
    if isinstance(stream, FragmentStream):
        return stream.times
    return () if stream.event_time is None else ((stream.event_time,),)
