"""Delivery of committed results to sinks, each at its own pace; a sink that fails stops only its own query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Any

from headgate.model import ConflictError, Spec
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import TRANSIENT, Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.outbox import Outbox
from headgate.spark.machine.tasks import FILES, CloseSink, Deliver, StoreDeadLetters, Task

LETTERS = "letters"
FILE_SECONDS = 0.01  # for a file: with a thousand queries, files are ten seconds behind and not a hundred a second
PATIENCE = 10.0  # seconds that whoever stops a query waits for its results to be delivered
LAGGING = 1 << 20  # bytes in an outbox from which on it keeps nothing in memory but its own rows


class Delivery:
    """The outboxes of all queries, and those of the streams' dead letters."""

    def __init__(self, context: MachineContext) -> None:
        self.outboxes: dict[int, Outbox] = {}
        self.note_delivery: Callable[[Outbox], None]  # set by the machine, as are the next three
        self.suspend: Callable[[Life, str], None]
        self.wait_for_sink: Callable[[Life], None]  # stop running a query whose outbox is full
        self.go_on: Callable[[Life], None]
        self._letters: dict[str, Outbox] = {}
        self._context = context

    def open(self, life: Life, sink: str, lane: str, behind: float, call: Any = None) -> Outbox:
        """Open an outbox for the sink of a query."""
        outbox = Outbox(self._context.new_id(), life.name, sink, behind, lane, call)
        self.outboxes[outbox.id] = outbox
        life.outbox = outbox
        return outbox

    def add_undelivered(self, query: str, sink: str, results: Sequence[tuple[int, Any, int]]) -> None:
        """Add committed results from before the start that recovery could not deliver; only file sinks have such."""
        outbox = Outbox(self._context.new_id(), query, sink, query_gone=True)
        self.outboxes[outbox.id] = outbox
        for commit, output, size in results:
            outbox.put(commit, output, size, self._context.now)

    def take_over_undelivered(self, life: Life) -> None:
        """Move results from before the start to the outbox of a query that has been added again.

        Those of a former query of that name may belong into files of another kind: they are delivered as they are.
        """
        mine = life.outbox
        assert mine is not None
        for outbox in list(self.outboxes.values()):
            if outbox.query != life.name or not outbox.query_gone or outbox.in_delivery or outbox.lane != mine.lane:
                continue
            if Spec.parse(outbox.sink).name != Spec.parse(mine.sink).name:
                self.pump(outbox)
                continue
            mine.waiting.extendleft(reversed(outbox.waiting))
            mine.size += outbox.size
            del self.outboxes[outbox.id]
            outbox.closed()
        self.pump(mine)

    def conflict(self, query: str, columns: Any) -> ConflictError | None:
        """Why a new query cannot start: its files are still to get results of a former one, with other columns."""
        for outbox in self.outboxes.values():
            left = outbox.query == query and outbox.query_gone and outbox.lane == FILES and bool(outbox.waiting)
            if left and outbox.columns is not None and outbox.columns != columns:
                return ConflictError(
                    f"results of a former query '{query}' with other columns are still to be written to its files",
                    hint=f"see to its folder ({outbox.error})" if outbox.error else "wait until they are, or rename it",
                )
        return None

    def put(self, life: Life, commit: int, results: Any, size: int) -> None:
        """Add the results of a commit to a query's outbox."""
        self._context.newest_commit = max(self._context.newest_commit, commit)
        assert life.outbox is not None
        if life.outbox.lane == FILES:
            life.outbox.turn = FILE_SECONDS * len(self.outboxes)
        if life.outbox.size > LAGGING:
            results = results.apart()
        life.outbox.put(commit, results, size, self._context.now)
        self.pump(life.outbox)
        if life.outbox.error:
            self.suspend(life, life.outbox.error)
        elif life.outbox.is_full:
            self.wait_for_sink(life)

    def put_letters(self, commit: int, letters: Mapping[str, Any]) -> None:
        """Add the dead letters of a commit to the outboxes of their streams."""
        self._context.newest_commit = max(self._context.newest_commit, commit)
        for stream, stream_letters in letters.items():
            if stream not in self._letters:
                self._letters[stream] = Outbox(self._context.new_id(), stream, LETTERS)
            self._letters[stream].put(commit, stream_letters, 0, self._context.now)
            self.pump(self._letters[stream])

    def forget_letters(self, stream: str) -> None:
        """A stream is gone: its dead letters need not be stored any more."""
        if (outbox := self._letters.pop(stream, None)) is not None:
            outbox.drop_rest()

    def pump(self, outbox: Outbox) -> None:
        """Start a delivery if one is due; otherwise set a timer for it."""
        if outbox.due(self._context.now):
            batch = outbox.take(self._context.now)
            task: Task = (
                StoreDeadLetters(outbox.query, batch)
                if outbox.sink == LETTERS
                else Deliver(outbox.id, outbox.query, outbox.sink, batch, outbox.lane, outbox.call)
            )
            self._context.submit(task, lambda answer: self._delivered(outbox, answer))
        elif outbox.waiting and not outbox.in_delivery and not outbox.error and outbox.timer < outbox.due_at:
            outbox.timer = outbox.due_at
            self._context.call_at(outbox.due_at, lambda: self.pump(outbox))

    def _delivered(self, outbox: Outbox, answer: Answer) -> None:
        if answer.error is None:
            if outbox.sink != LETTERS:
                self.note_delivery(outbox)
                self._count(outbox)
            outbox.delivered()
            self.pump(outbox)
            life = self._life(outbox)
            if life is not None and life.state is QueryState.WAITING and not life.failures and outbox.has_room:
                self.go_on(life)
        else:
            outbox.refused(self._context.explain(answer.error))
            outbox.awaits_spark = isinstance(answer.error, SparkGoneError)
            for life in self._affected(outbox):
                self._suspend(life, outbox)
        if not outbox.in_delivery:
            outbox.at_once = False
        self._close_if_empty(outbox)

    def _count(self, outbox: Outbox) -> None:
        """Count how long results waited for their sink; those of a query that is gone belong to no class."""
        if (life := self._context.lives.get(outbox.query)) is not None:
            counts = self._context.counters.of(life)
            for _, _, _, since in islice(outbox.waiting, outbox.in_delivery):
                counts.sink_seconds.add(max(0.0, self._context.now - since))

    def _suspend(self, life: Life, outbox: Outbox) -> None:
        """Suspend a query whose sink failed; if its state is transient, once it is settled and if the error remains."""
        if self._context.lives.get(life.name) is not life or not outbox.error:
            return
        if life.state in TRANSIENT:
            self._context.when_settled(life, lambda: self._suspend(life, outbox))
        elif not outbox.awaits_spark:
            self.suspend(life, outbox.error)
        elif life.state in (QueryState.RUNNING, QueryState.WAITING):  # others keep their state until Spark is back
            life.awaits_spark = True
            self.suspend(life, outbox.error)

    def _affected(self, outbox: Outbox) -> Iterable[Life]:
        """The queries whose results or dead letters were not taken."""
        if outbox.sink != LETTERS:
            life = self._life(outbox)
            return () if life is None else (life,)
        names = {letter["query"] for _, letters, _, _ in outbox.waiting for letter in letters}
        return [self._context.lives[name] for name in names if name in self._context.lives]

    def _life(self, outbox: Outbox) -> Life | None:
        life = self._context.lives.get(outbox.query)
        return life if life is not None and life.outbox is outbox else None

    def offer_again(self, life: Life) -> bool:
        """Deliver again what a sink refused. True if a delivery has started."""
        for letters in self._letters.values():
            letters.error = ""
            self.pump(letters)
        outbox = life.outbox
        if outbox is None or not outbox.error:
            return False
        outbox.error, outbox.awaits_spark, outbox.at_once = "", False, True
        self.pump(outbox)
        return bool(outbox.in_delivery)

    def offer_after_restart(self) -> None:
        """Deliver again what sinks refused because Spark had died."""
        for outbox in list(self.outboxes.values()):
            if outbox.awaits_spark:
                outbox.error, outbox.awaits_spark, outbox.at_once = "", False, True
                self.pump(outbox)

    def close(self, life: Life, closed: Callable[[], None] | None = None) -> None:
        """Close the outbox of a removed query once its results are delivered.

        `closed` is called then, so that whoever has stopped a query finds its results where they belong, and nothing
        writes there any more. It is called earlier if the sink refuses them or takes too long, and at once if they go
        to a function of the user's: that may itself be waiting for the query to stop.
        """
        outbox = life.outbox
        if outbox is None:
            if closed is not None:
                closed()
            return
        outbox.query_gone, outbox.when_closed, outbox.columns = True, closed, life.columns
        if outbox.call is not None:
            outbox.closed()
        self.pump(outbox)
        self._close_if_empty(outbox)
        if outbox.when_closed is not None:
            self._context.call_at(self._context.now + PATIENCE, outbox.closed)

    def _close_if_empty(self, outbox: Outbox) -> None:
        if outbox.query_gone and outbox.error and outbox.call is not None:
            commits = outbox.drop()  # no query is left whose resume would deliver them again
            self._context.log("warning", "results of a stopped query were dropped", query=outbox.query, commits=commits)
        if outbox.query_gone and not outbox.waiting and self.outboxes.pop(outbox.id, None) is not None:
            if outbox.lane == FILES and any(other.query == outbox.query for other in self.outboxes.values()):
                outbox.closed()  # a new query of that name uses the same files
                return
            self._context.submit(CloseSink(outbox.id, outbox.query, outbox.lane), lambda answer: outbox.closed())
        elif outbox.query_gone and outbox.error:
            outbox.closed()

    def retry_for_removed_queries(self) -> None:
        """Deliver again what sinks refused whose queries are gone: nobody else would, and commits are kept as long."""
        for outbox in self.outboxes.values():
            if outbox.query_gone and not outbox.awaits_spark:
                outbox.error = ""
                self.pump(outbox)

    def flush(self) -> None:
        """Deliver everything now, even if files get small."""
        for outbox in self._all():
            if outbox.waiting:
                outbox.at_once = True
                self.pump(outbox)

    @property
    def empty(self) -> bool:
        """Whether nothing waits for a sink, except for those that have failed."""
        return not any(outbox.waiting and not outbox.error for outbox in self._all())

    @property
    def oldest_commit(self) -> float:
        """The number of the oldest commit that a sink still needs; infinity if none."""
        return min((outbox.oldest_commit for outbox in self._all()), default=inf)

    @property
    def in_delivery(self) -> list[Outbox]:
        """Outboxes whose sink is taking results at the moment."""
        return [outbox for outbox in self._all() if outbox.in_delivery]

    def _all(self) -> list[Outbox]:
        return [*self.outboxes.values(), *self._letters.values()]
