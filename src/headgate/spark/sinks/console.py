"""The sink `console`: prints every result as a JSON line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from headgate.model import Spec, times
from headgate.spark.sinks.base import Call, FunctionSink
from headgate.spark.sinks.registry import register
from headgate.spark.store.json_lines import line


@register("console")  # with its own thread, since whoever reads our output may be slow
def open_console(spec: Spec, folder: Path, call: Call) -> FunctionSink:
    """Open the sink that prints."""
    return FunctionSink(_print)


def _print(table: pa.Table) -> None:
    for row in times.rows(table):
        print(line(row), flush=True)
