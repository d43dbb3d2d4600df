"""The rooms in which rows wait inside queries that are in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headgate.spark.queries.fragment_log_sink import WaitingRows
from headgate.spark.queries.layout import Shape, sweep, waiting_folder
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog


class Rooms:
    """The logs of waiting rows that are open, by their names; commits fill them."""

    def __init__(self, directory: DataDirectory) -> None:
        self.folder = directory.waiting
        self.open: dict[str, StreamLog] = {}

    def put(self, name: str, commit: int, rows: pa.Table) -> None:
        """Let rows of a commit wait; the second time nothing happens."""
        self.sink(name).roll_forward(commit, rows)

    def sink(self, name: str) -> WaitingRows:
        """What a commit's rows go to."""
        return WaitingRows(name, waiting_folder(self.folder, name), self.open.get(name))

    def sweep(self, queries: Mapping[str, Mapping[str, Any]]) -> None:
        """Remove what waits for queries that are no more, or are cut otherwise now."""
        sweep(self.folder, {name: told["cut"]["epoch"] for name, told in queries.items() if "cut" in told})

    def take(self, shape: Shape) -> None:
        """A query is in these pieces from now on."""
        self.open.update(shape.logs)

    def leave(self, shape: Shape) -> None:
        """Nobody waits there any more."""
        for name in shape.logs:
            self.open.pop(name, None)
        shape.discard()

    def close(self) -> None:
        for log in list(self.open.values()):
            log.close()


def is_room(name: str) -> bool:
    """Whether a name is that of waiting rows, not of a query.

    >>> is_room("fire#12.0.1"), is_room("fire")
    (True, False)
    """
    return "#" in name


def tenant(name: str) -> str:
    """The query that a name is of, or whose rows wait under it.

    >>> tenant("fire#12.0.1"), tenant("fire")
    ('fire', 'fire')
    """
    return name.rpartition("#")[0] or name
