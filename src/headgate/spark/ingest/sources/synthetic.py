"""Synthetic sources: tuples that come by a process of arrivals, with random values or rows of a file.

Each kind of arrivals is the name of a source: `"poisson, rate=500"`, `"trace, file=arrivals.csv"`.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
import pyarrow as pa

from headgate.model import HeadgateError
from headgate.sim.arrivals import arrivals
from headgate.spark.ingest.parsing.files import check_suffix, pages
from headgate.spark.ingest.parsing.records import Read, schema_of
from headgate.spark.ingest.sources.options import existing, flag
from headgate.spark.ingest.sources.registry import SourceRequest, register
from headgate.spark.ingest.synthetic.feeder import TICK, Feeder, Stamp
from headgate.spark.ingest.synthetic.paged_rows import PagedRows, repeated
from headgate.spark.ingest.synthetic.random_rows import generated
from headgate.spark.ingest.synthetic.timetable import Timetable
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.settings import Settings

OWN_SETTINGS = ("rows", "file", "repeat", "tick")  # besides those of the arrivals and of the columns


@register(*ARRIVALS)
def open_feeder(request: SourceRequest) -> Feeder:
    """Open a feeder from its settings: those of its kind of arrivals, its own, and one for each column."""
    settings, schema = request.settings, schema_of(request.stream)
    kind = ARRIVALS[settings.name]
    own = tuple(name for name in OWN_SETTINGS if name not in kind.settings)  # the file of a trace holds its times
    from_file = "file" in own and "file" in settings
    settings.only([*kind.settings, *own, *(() if from_file else schema.names)])
    if "repeat" in settings and "file" not in settings:
        raise HeadgateError("repeat is for the rows of a file", hint="write file=rows.csv, or leave out repeat")
    process = arrivals(_only(settings, kind.settings), request.directory, request.within)
    times, values = (np.random.default_rng([request.seed, part]) for part in (0, 1))
    tick, rows = settings.duration("tick"), settings.whole("rows", low=0)
    if from_file:
        supply, stamp = _rows_of_file(request)
    else:
        # A column with the name of another setting cannot be set.
        columns = tuple(name for name in schema.names if name not in (*kind.settings, *own))
        supply, stamp = _random_rows(Settings(_only(settings, columns)), schema, values)
    return Feeder(
        Timetable(process, times),
        supply,
        stamp,
        began=request.began,
        tick=TICK if tick is None else tick,
        rows=math.inf if rows is None else rows,
    )


def _only(settings: Settings, keys: tuple[str, ...]) -> str:
    """The string with only these settings, as they were written."""
    return ", ".join([settings.name, *(f"{key}={settings.word(key)}" for key in keys if key in settings)])


def _random_rows(settings: Settings, schema: pa.Schema, random: np.random.Generator) -> tuple[PagedRows, Stamp]:
    """Random values; columns with a time or a date get the moment of arrival."""
    timed = [field.name for field in schema if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)]
    return PagedRows(generated(schema, settings, random), schema), Stamp(tuple(timed), always=True)


def _rows_of_file(request: SourceRequest) -> tuple[PagedRows, Stamp]:
    """Rows of a file; where the event time is null it becomes the moment of arrival.

    With `repeat` every row gets the moment of arrival, or all rows would be late from the second time on.
    """
    settings, stream = request.settings, request.stream
    schema, repeat = schema_of(stream), flag(settings, "repeat")
    path = existing(request.directory / str(settings.word("file")), request.within)
    check_suffix(path.name)

    def read_again() -> Generator[Read, None, None]:
        return pages(path, schema, request.within)

    stamp = Stamp((stream.event_time,) if stream.event_time else (), always=repeat)
    return PagedRows(repeated(read_again) if repeat else read_again(), schema), stamp
