"""The sink `blackhole`: drops all results, for benchmarks and for queries whose results nobody needs."""

from __future__ import annotations

from pathlib import Path

from headgate.model import Spec
from headgate.spark.sinks.base import Call, FunctionSink, ignore
from headgate.spark.sinks.registry import register


@register("blackhole", own_thread=False)
def open_blackhole(spec: Spec, folder: Path, call: Call) -> FunctionSink:
    """Open the sink that drops everything."""
    return FunctionSink(ignore)
