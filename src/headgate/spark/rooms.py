"""The rooms in which rows wait inside queries that are in pieces."""

from __future__ import annotations

from headgate.spark.cutting import Shape, sweep, waiting_folder
from headgate.spark.running import RunningQuery
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.ledger import Ledger
from headgate.spark.store.log import StreamLog
from headgate.spark.store.waitingrows import WaitingRows


class Rooms:
    """The logs of waiting rows that are open, by their names; commits fill them like sinks."""

    def __init__(self, directory: DataDirectory) -> None:
        self.folder = directory.waiting
        self.open: dict[str, StreamLog] = {}

    def sink(self, name: str) -> WaitingRows:
        """What a commit's rows go to."""
        return WaitingRows(name, waiting_folder(self.folder, name), self.open.get(name))

    def settle(self, ledger: Ledger) -> None:
        """After recovery, which has filled rooms as commits said: let go of them, and sweep those no query is in."""
        for name in [name for name in ledger.sinks if is_room(name)]:
            ledger.sinks.pop(name).close()
        sweep(self.folder, {name: told["cut"]["epoch"] for name, told in ledger.queries.items() if "cut" in told})

    def take(self, running: RunningQuery, shape: Shape) -> None:
        """Let a query be in these pieces from now on."""
        running.shape = shape
        self.open.update(shape.logs)

    def leave(self, shape: Shape, ledger: Ledger) -> None:
        """Nobody waits there any more."""
        ledger.forward()
        for name in shape.logs:
            self.open.pop(name, None)
            ledger.sinks.pop(name, None)
        shape.discard()

    def close(self) -> None:
        for log in self.open.values():
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
