"""Sources that are given as Python objects, not as text: iterables, and frames of Structured Streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from headgate.model import Stream
from headgate.spark.ingest.sources.base import Reader
from headgate.spark.ingest.sources.iterator import iterator_source
from headgate.spark.ingest.sources.structured_streaming import StructuredReader


def opener_of(source: object, checkpoint: Callable[[str], Path]) -> Callable[[Stream], Reader] | None:
    """What opens a source for a stream; None if the source is no such object.

    `checkpoint` says where Spark keeps the checkpoint of a stream.
    """
    if isinstance(source, DataFrame):
        return lambda stream: StructuredReader(source, stream, checkpoint(stream.name))
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | Mapping):
        return lambda stream: iterator_source(source, stream)
    return None


def object_kind(source: object) -> str:
    """What an object as a source is called, where the object itself cannot be stored."""
    return "a frame of Structured Streaming" if isinstance(source, DataFrame) else "a Python iterable"
