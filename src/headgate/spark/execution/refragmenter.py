"""Carrying out `Prepare` tasks: join or cut a running query as the policy's level demands, and commit its layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from headgate.model import HeadgateError, QueryClass
from headgate.plan.network import Network
from headgate.plan.places import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.cutting import cut_up, remaining_ranges, whole_positions
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.machine.interfaces import Chunks, ResumePoint, key, keyed, query_description
from headgate.spark.machine.tasks import Evaluate, Portion, Prepare, Prepared, PrepareTogether, WriteCommit
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.resume import reopen_fragments
from headgate.spark.queries.running_query import RunningQuery


@dataclass(slots=True)
class _Progress:
    """A query while its layout changes: its layout and positions so far, and what has been committed."""

    resume_point: ResumePoint
    prepared: Prepared
    reported: set[Any]  # keys of failures that are dead letters already

    @classmethod
    def of(cls, task: Prepare) -> _Progress:
        point = task.resume_point
        prepared = Prepared(point.layout, dict(point.positions), {}, {}, unappended=list(task.unappended))
        return cls(point, prepared, set(task.reported))

    @property
    def layout(self) -> Layout:
        return cast(Layout, self.prepared.layout)

    def now(self) -> ResumePoint:
        return replace(self.resume_point, layout=self.prepared.layout, positions=dict(self.prepared.positions))

    def running(self) -> RunningQuery:
        return RunningQuery.of(self.now())


class Refragmenter:
    """Prepares queries to run. Several threads may use it, each for another query."""

    def __init__(
        self,
        evaluator: SparkEvaluator,
        committer: Committer,
        fragment_logs: FragmentLogs,
        ingest: StreamIngest,
    ) -> None:
        self._evaluator, self._committer = evaluator, committer
        self._fragment_logs, self._ingest = fragment_logs, ingest

    def prepare(self, task: Prepare) -> Prepared:
        """Carry out the task. After an error, the answer still has everything that was committed so far."""
        progress = _Progress.of(task)
        with self._noting_errors(progress):
            self._bring_to_level(progress, task)
            progress.prepared.backlog = self._backlog(progress, task)
        progress.prepared.fragment_log_ends = {name: log.end for name, log in progress.layout.logs.items()}
        return progress.prepared

    def prepare_together(self, task: PrepareTogether) -> list[Prepared]:
        """Carry out the tasks, of which none cuts or joins; those that commit a description share one commit."""
        pairs = [(each, _Progress.of(each)) for each in task.tasks]
        for each, progress in pairs:
            with self._noting_errors(progress):
                self._append_pending(progress)
                progress.prepared.backlog = self._backlog(progress, each)
        described = [
            progress for each, progress in pairs if each.commit_description and progress.prepared.error is None
        ]
        try:
            if described:
                self._committer.write((_descriptions([progress.now() for progress in described]),))
        except Exception as error:
            for progress in described:
                progress.prepared.error = error
        else:
            for progress in described:
                progress.prepared.description_committed = True
        return [progress.prepared for _, progress in pairs]

    @contextmanager
    def _noting_errors(self, progress: _Progress) -> Iterator[None]:
        java = self._evaluator.java
        try:
            yield
        except Exception as error:
            progress.prepared.error = self._evaluator.blame(java, error)

    def _bring_to_level(self, progress: _Progress, task: Prepare) -> None:
        self._append_pending(progress)
        if task.reopen is not None:
            layout, positions = reopen_fragments(
                progress.running(), task.reopen["cut"], task.reopen_at, self._evaluator.cutter()
            )
            former, progress.prepared.layout, progress.prepared.positions = progress.layout, layout, positions
            self._fragment_logs.register(layout)
            former.close()  # after a restart of Spark, the same logs were open already
        up_to_date = not task.commit_description
        if progress.layout.level != task.level and not progress.layout.whole:
            self._join_up(progress)
            up_to_date = True
        if progress.layout.level != task.level:
            self._cut_up(progress, task)
            up_to_date = True
        if not up_to_date:
            self._commit_description(progress)
        if task.discard is not None:
            self._fragment_logs.discard(cast(Layout, task.discard))

    def _append_pending(self, progress: _Progress) -> None:
        """Append committed rows that their fragment logs refused before."""
        while progress.prepared.unappended:
            name, number, output = progress.prepared.unappended[0]
            self._fragment_logs.append(name, number, output.table())
            progress.prepared.unappended.pop(0)

    def _join_up(self, progress: _Progress) -> None:
        """Run the fragments until their logs are empty; then the query can be one fragment again."""
        former, network = progress.layout, self._network(progress)
        # Not the scheduler's queues: a query from before the start is not in the scheduler yet.
        queues = network.inputs(progress.resume_point.name)
        for fragment in former.fragments:
            ranges = remaining_ranges(progress.running(), fragment)
            if ranges is not None:
                offsets = {place: (taken.first, taken.last) for place, taken in ranges.items()}
                self._run(progress, Portion(replace(progress.now(), queues=queues), fragment, offsets))
        before = former, progress.prepared.positions
        progress.prepared.layout, progress.prepared.positions = (
            progress.resume_point.unfragmented,
            whole_positions(progress.running(), network),
        )
        try:
            self._commit_description(progress)
        except Exception:  # according to the commits it is still fragmented
            progress.prepared.layout, progress.prepared.positions = before
            raise
        self._fragment_logs.discard(former)

    def _run(self, progress: _Progress, portion: Portion) -> None:
        """Run one fragment on the rows in its logs, and commit the result."""
        (result,) = self._evaluator.evaluate(Evaluate("join", ((portion,),)))
        if result.error:
            raise HeadgateError(result.error)
        fragment, name = portion.fragment, portion.name
        unreported = _unreported(progress, result.failures)
        task = WriteCommit(
            positions={name: {key(place): last for place, (_, last) in portion.offsets.items()}},
            outputs={} if result.output is None else {name: result.output},
            intermediate={}
            if fragment.feeds_name is None or result.intermediate is None
            else {fragment.feeds_name: result.intermediate},
            failures=tuple((name, self._stream(progress), failure) for failure in unreported.values()),
            follower_tables={name: result.follower_tables} if result.follower_tables else {},
        )
        (written,) = self._committer.write((task,))
        progress.prepared.steps.append((result, written))
        _mark_reported(progress, unreported)
        progress.prepared.positions.update({place: last for place, (_, last) in portion.offsets.items()})
        for log_name, (number, output) in written.unappended.items():
            progress.prepared.unappended.append((log_name, number, output))
        if written.error is not None:
            raise written.error

    def _cut_up(self, progress: _Progress, task: Prepare) -> None:
        assert task.level is not None
        epoch = self._committer.commits.number + 1  # no earlier cut of this query has the same
        running = progress.running()
        layout, positions, failures = cut_up(
            running, task.level, epoch, self._evaluator.cutter(), self._evaluator.runner, self._ingest.logs
        )
        before = progress.prepared.layout, progress.prepared.positions
        progress.prepared.layout, progress.prepared.positions = layout, positions
        self._fragment_logs.register(layout)
        unreported = _unreported(progress, failures)
        try:
            self._commit_description(
                progress,
                tuple((running.name, self._stream(progress), failure) for failure in unreported.values()),
            )
        except Exception:
            progress.prepared.layout, progress.prepared.positions = before
            self._fragment_logs.discard(layout)
            raise
        _mark_reported(progress, unreported)

    def _commit_description(self, progress: _Progress, failures: tuple[tuple[str, str, Any], ...] = ()) -> None:
        resume_point = progress.now()
        (written,) = self._committer.write((replace(_descriptions([resume_point]), failures=failures),))
        progress.prepared.description_committed = True
        if written.letters:
            progress.prepared.letters.append(written)

    def _backlog(self, progress: _Progress, task: Prepare) -> dict[Place, Chunks]:
        """The tuples after the query's positions, by leaf: when they arrived and how many."""
        backlog: dict[Place, Chunks] = {}
        for place, source in progress.layout.leaves.items():
            position, log = progress.prepared.positions[place], progress.layout.logs.get(source.stream)
            if log is not None:
                backlog[place] = fragment_rows.arrivals(log.read(position, log.end))
            elif position < task.ends[source.stream]:
                backlog[place] = self._since(source.stream, position, progress.resume_point.until.get(place), task)
        return backlog

    def _since(self, stream: str, position: int, until: int | None, task: Prepare) -> Chunks:
        """When the tuples of a stream from a position on arrived.

        Those after the end of a one-time query may have been dropped; it never takes them, so any arrival will do.
        """
        end = task.ends[stream]
        wanted = end if until is None else max(position, min(until, end))
        chunks = self._ingest.chunks(stream, position, wanted) if position < wanted else ()
        return (*chunks, (0.0, end - wanted)) if wanted < end else chunks

    def _network(self, progress: _Progress) -> Network:
        query = progress.resume_point.query
        return Network.of([query], self._ingest.streams.values(), [QueryClass(query.query_class)], share=False)

    @staticmethod
    def _stream(progress: _Progress) -> str:
        return min(source.stream for source in progress.resume_point.unfragmented.leaves.values())


def _descriptions(resume_points: Sequence[ResumePoint]) -> WriteCommit:
    """The commit that describes queries as they are now."""
    return WriteCommit(
        queries={point.name: query_description(point) for point in resume_points},
        positions={point.name: keyed(point.positions) for point in resume_points},
    )


def _unreported(progress: _Progress, failures: Iterable[Any]) -> dict[Any, Any]:
    """Failures that are not dead letters yet, each once."""
    return {failure.key: failure for failure in failures if failure.key not in progress.reported}


def _mark_reported(progress: _Progress, unreported: Mapping[Any, Any]) -> None:
    progress.reported |= unreported.keys()
    progress.prepared.keys |= unreported.keys()
