"""A workload at other rates, to see what it does under more load."""

from __future__ import annotations

import re
from dataclasses import replace

from headgate.workload.workload import Workload

_RATE = re.compile(r"(?<![\w-])rate=([\d.]+)")


def faster(workload: Workload, times: float) -> Workload:
    """The workload with its made-up sources at so many times their rates; sources that are given stay as they are."""
    streams = tuple(
        replace(stream, source=faster_source(stream.source, times)) if isinstance(stream.source, str) else stream
        for stream in workload.streams
    )
    return replace(workload, streams=streams)


def faster_source(source: str, times: float) -> str:
    """A made-up source at so many times its rate.

    >>> faster_source("poisson, rate=400, a=[0, 1]", 20)
    'poisson, rate=8000, a=[0, 1]'
    """
    return _RATE.sub(lambda match: f"rate={float(match[1]) * times:g}", source)
