"""Carrying out: a share becomes Spark jobs, then a commit, then results where they belong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from headgate.model import Run
from headgate.spark.followers import Followers
from headgate.spark.intake import Intake
from headgate.spark.jobs.evaluate import Result
from headgate.spark.responses import Arrivals, response_times, response_times_of_train
from headgate.spark.retention import forget
from headgate.spark.runner import Runner
from headgate.spark.running import RunningQuery
from headgate.spark.share import Share, key, letters_of
from headgate.spark.store.ledger import Ledger
from headgate.spark.store.records import Commit, Output
from headgate.spark.together import Together

CHECKPOINT = 200  # commits between two checkpoints


class Carrier:
    """Evaluates and commits; several workers may at a time. What it counts and moves is under the engine's lock."""

    def __init__(
        self,
        runner: Runner,
        intake: Intake,
        ledger: Ledger,
        followers: Followers,
        lock: threading.Condition,
        now: Callable[[], float],
    ) -> None:
        self.runs = 0
        self._intake, self._ledger, self._followers = intake, ledger, followers
        self._lock, self._now = lock, now
        self._tidier = ThreadPoolExecutor(1, "headgate-tidy")
        self._tidying: Future[None] | None = None
        self._together = Together(runner, intake.logs, ledger.aside, self._evaluated)

    def evaluate(self, shares: list[Share], label: str) -> None:
        """Run the shares of a unit as Spark jobs; afterwards each has its result or its error."""
        self._together.evaluate(shares, label)

    def _evaluated(self, share: Share, result: Result, jobs: int) -> None:
        share.done(result, self._now())
        with self._lock:
            share.running.tally.jobs += jobs

    def commit(self, shares: list[Share], run: Run | None = None) -> dict[str, list[float]]:
        """From here on a run counts, whatever becomes of its results. How long each took, by query."""
        positions = {share.name: {key(p): at for p, at in share.positions().items()} for share in shares}
        aside = self._ledger.aside
        outputs = {share.name: output for share in shares if (output := share.output(aside)) is not None}
        seen = {share.name: share.tables(aside) for share in shares if self._followers.has(share.name)}
        for share in shares:
            if share.handed is not None and share.piece.feeds is not None:
                outputs[share.piece.feeds.name] = Output.inline(share.handed)
        number, units = (run.id, tuple(map(str, run.units))) if run is not None else (0, ())
        failures = [(share.running, failure) for share in shares for failure in share.result.failures]
        letters = letters_of(failures, self._now())
        self._ledger.commit(Commit(number, units, positions, outputs, letters=letters))
        emission = self._now()
        with self._lock:
            for share in shares:
                share.running.positions.update(share.positions())
                share.running.has_told(share.result.failures)
                for table in seen.get(share.name, ()):
                    self._followers.give(share.name, table)
            self.runs += 1
            self._lock.notify_all()
        # Members of a group have read the same, and to look up a long train takes a while.
        arrivals = cache(lambda stream, first, last: self._intake.logs[stream].arrivals(first, last))
        return {share.name: self._note(share, emission, arrivals) for share in shares}

    def bring(self, queries: Mapping[str, RunningQuery]) -> None:
        """Bring what is committed to the sinks; now and then somebody tidies up, while others go on."""
        self._ledger.forward()
        if self.runs % CHECKPOINT == 0:
            with self._lock:
                if self._tidying is None or self._tidying.done():
                    former, self._tidying = self._tidying, self._tidier.submit(self._tidy, queries)
                    if former is not None:
                        former.result()  # what went wrong there is told here

    def close(self) -> None:
        """Let the tidying end."""
        self._tidier.shutdown()

    def _tidy(self, queries: Mapping[str, RunningQuery]) -> None:
        """Merge small files, shorten the commit log, and drop what no query will read again."""
        self._ledger.checkpoint()
        with self._lock:
            alive = {name for name, told in self._ledger.queries.items() if not told.get("done")}
            begun = {name: running for name, running in queries.items() if running.state != "scheduled"}
            if alive - begun.keys():
                return  # a query of a former life has not come back yet, or is to go on later
            forget([running for running in begun.values() if running.state != "done"], self._intake.logs)
            for running in begun.values():
                running.forget_told(self._intake.logs)

    def _note(self, share: Share, emission: float, arrivals: Arrivals) -> list[float]:
        times: list[float] = []
        if share.result.written is not None:
            times = response_times_of_train(share.result.count, share.streams_read, arrivals, emission)
        elif share.piece.feeds is None:
            times = response_times(share.result.rows, share.streams_read, self._intake.logs, emission)
        with self._lock:
            tally = share.running.tally
            tally.runs += 1
            tally.tuples_in += share.arrived
            tally.tuples_out += share.result.count if share.piece.feeds is None else 0
            tally.late += share.late
            tally.note(times)
        return times
