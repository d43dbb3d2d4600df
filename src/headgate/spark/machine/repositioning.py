"""Moving a query to other positions in its streams, for new SQL or to skip its backlog: completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headgate.model import Query
from headgate.plan.places import Place
from headgate.spark.machine.interfaces import LayoutView, keyed
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import CheckedQuery, DiscardFragmentLogs, FindPositions, WriteCommit
from headgate.spark.machine.window_clocks import streams_of

Ended = Callable[[Exception | None], None]  # gets the error, or None
_UNDOABLE = ("query", "unfragmented", "layout", "starts", "positions", "until", "fragment_log_ends", "reopen_from")


class Repositioning:
    """Moves queries to other positions. Once a commit holds the new positions, they are not undone."""

    def __init__(self, scheduling: Scheduling, preparation: Preparation) -> None:
        self._context, self._scheduling, self._preparation = scheduling.context, scheduling, preparation

    def replace(self, life: Life, query: Query, checked: CheckedQuery, ended: Ended) -> None:
        """Give a query new SQL; it continues in each stream at the old query's position."""
        assert life.layout is not None
        former = self._take_out(life, "gets other SQL")
        if life.layout.whole:
            self._take_place(life, query, checked, dict(life.positions), former, ended)
            return

        def positions_found(answer: Answer) -> None:
            if answer.error is not None:
                self._back(life, former)
                ended(answer.error)
            else:
                life.unappended = []
                self._take_place(life, query, checked, answer.value, former, ended)

        self._context.submit(FindPositions(life.resume_point(), tuple(life.unappended)), positions_found)

    def _take_place(
        self,
        life: Life,
        query: Query,
        checked: CheckedQuery,
        old_positions: Mapping[Place, int],
        former: QueryState,
        ended: Ended,
    ) -> None:
        assert life.unfragmented is not None
        streams = {place: source.stream for place, source in life.unfragmented.leaves.items()}
        positions = {}
        for leaf, source in checked.unfragmented.leaves.items():
            offsets = [offset for place, offset in old_positions.items() if streams[place] == source.stream]
            positions[leaf] = min(offsets, default=self._scheduling.ends[source.stream])
        before, old = _saved(life), life.layout
        # A one-time query goes on as a continuous one: it has no offsets at which the new SQL ends.
        life.query, life.unfragmented, life.until = replace(query, once=False), checked.unfragmented, {}
        life.reported |= set(checked.reported)
        self._put(life, positions)
        self._go_on(life, former, before, old, ended)

    def skip(self, life: Life) -> None:
        """Skip the backlog: jump to the end of its streams and count the skipped tuples."""
        assert life.unfragmented is not None
        ends = self._scheduling.ends
        skipped = sum(self._scheduling.lag(life, stream) for stream in streams_of(life))
        before, old = _saved(life), life.layout
        former = self._take_out(life, f"lags too far: skips {skipped} tuples")
        self._put(life, {leaf: ends[source.stream] for leaf, source in life.unfragmented.leaves.items()})
        life.unappended = []

        def ended(error: Exception | None) -> None:
            if error is None:
                life.skipped += skipped
                self._context.counters.of(life).skipped += skipped

        self._go_on(life, former, before, old, ended)

    def _take_out(self, life: Life, reason: str) -> QueryState:
        """Take a query out of the scheduler, and return its former state."""
        former, error = life.state, life.error
        self._scheduling.leave(life)
        self._context.change_state(life, QueryState.CUTTING, reason)
        life.error = error
        return former

    @staticmethod
    def _put(life: Life, positions: dict[Place, int]) -> None:
        """Set the positions of a query as one fragment."""
        life.layout, life.fragment_log_ends, life.reopen_from = life.unfragmented, {}, None
        life.positions, life.starts = positions, dict(positions)

    def _go_on(
        self, life: Life, former: QueryState, before: Mapping[str, object], old: LayoutView | None, ended: Ended
    ) -> None:
        """Commit the new positions and return to the former state; undo everything if the commit fails."""
        discard = old if old is not None and not old.whole else None
        life.description_committed = False

        def done(error: Exception | None) -> None:
            if error is None or life.description_committed:  # what is committed stays, even if it cannot run yet
                if error is not None:
                    self._context.change_state(
                        life, QueryState.SUSPENDED, "could not go on", self._context.explain(error)
                    )
                ended(None)
                return
            for name, value in before.items():
                setattr(life, name, value)
            ended(error)
            self._back(life, former)

        if former is QueryState.RUNNING:
            self._preparation.prepare(life, "", done, commit_description=True, discard=discard)
        else:
            self._announce(life, former, discard, done)

    def _announce(self, life: Life, state: QueryState, discard: LayoutView | None, done: Ended) -> None:
        """Commit the description of a query that does not run, and return it to its state."""

        def written(answer: Answer) -> None:
            if answer.error is None:
                if discard is not None:
                    self._context.submit(DiscardFragmentLogs(discard), lambda answer: None)
                self._context.change_state(life, state, "", life.error)
            done(answer.error)

        task = WriteCommit(
            queries={life.name: life.description(paused=life.paused)}, positions={life.name: keyed(life.positions)}
        )
        self._context.submit(task, written)

    def _back(self, life: Life, former: QueryState) -> None:
        """Return a query to its former state."""
        if former is QueryState.RUNNING:
            self._preparation.prepare(life, "goes on as before")
        else:
            self._context.change_state(life, former, "as before", life.error)


def _saved(life: Life) -> dict[str, object]:
    """The fields to restore if the new positions cannot be committed."""
    return {name: getattr(life, name) for name in _UNDOABLE}
