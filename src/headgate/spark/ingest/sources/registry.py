"""A source from its string."""

from __future__ import annotations

from pathlib import Path

from headgate.model import HeadgateError, Stream, unknown
from headgate.spark.ingest.sources.base import Reader
from headgate.spark.ingest.sources.directory import open_folder
from headgate.spark.ingest.sources.socket import open_socket
from headgate.spark.ingest.synthetic.feeder import open_feeder
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.settings import Settings

KINDS = (*ARRIVALS, "directory", "socket", "iterator")


def open_source(text: str, stream: Stream, directory: Path, seed: int = 1, began: float = 0.0) -> Reader:
    """Open what a string describes; relative paths begin at `directory`, arrivals at `began`.

    Feeders are named by their arrivals, "poisson, rate=500", and have the settings rows, file, repeat, batch, tick and
    one for each column; further "directory, path=…, pattern=*.jsonl, end=true" and "socket, port=9999".
    """
    try:
        return _opened(Settings(text), stream, directory, seed, began)
    except HeadgateError as error:
        raise error.at(f"source of '{stream.name}'") from None


def _opened(settings: Settings, stream: Stream, directory: Path, seed: int, began: float) -> Reader:
    match settings.name:
        case "directory":
            return open_folder(settings, stream, directory)
        case "socket":
            return open_socket(settings, stream)
        case "iterator":
            raise HeadgateError("an iterator has no string", hint="give the iterable itself to iterator_source")
        case name if name in ARRIVALS:
            return open_feeder(settings, stream, directory, seed, began)
    raise unknown("kind of source", settings.name, KINDS)
