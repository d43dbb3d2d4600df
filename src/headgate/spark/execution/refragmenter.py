"""Bringing a query into the form that a policy's level asks for: it is put together, cut, and told of in a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from headgate.model import HeadgateError, QueryClass
from headgate.plan.network import Network
from headgate.plan.sharing import Place
from headgate.spark.compile import fragment_rows
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.cutting import cut_up, remaining_ranges, whole_positions
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.machine.fragments import Chunks, ResumePoint, key, keyed, query_description
from headgate.spark.machine.tasks import Evaluate, Portion, Prepare, Prepared, WriteCommit
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.resume import reopen_fragments
from headgate.spark.queries.running_query import RunningQuery


@dataclass(slots=True)
class _Preparation:
    """A query on its way from one form to another: where it stands, as far as it has come."""

    resume_point: ResumePoint
    done: Prepared
    reported: set[Any]  # what expressions failed on that is known already

    @property
    def layout(self) -> Layout:
        return cast(Layout, self.done.layout)

    def now(self) -> ResumePoint:
        return replace(self.resume_point, layout=self.done.layout, positions=dict(self.done.positions))

    def running(self) -> RunningQuery:
        return RunningQuery.of(self.now())


class Refragmenter:
    """Prepares queries to run; several threads may, each another query."""

    def __init__(
        self,
        evaluator: SparkEvaluator,
        committer: Committer,
        fragment_logs: FragmentLogs,
        ingest: StreamIngest,
    ) -> None:
        self._evaluator, self._committer, self._fragment_logs, self._ingest = (
            evaluator,
            committer,
            fragment_logs,
            ingest,
        )

    def prepare(self, task: Prepare) -> Prepared:
        """Whatever goes wrong on the way: what has been committed so far is told."""
        resume_point = task.resume_point
        java = self._evaluator.java
        done = Prepared(resume_point.layout, dict(resume_point.positions), {}, {}, unappended=list(task.unappended))
        preparation = _Preparation(resume_point, done, set(task.reported))
        try:
            self._bring_to_level(preparation, task)
            preparation.done.backlog = self._backlog(preparation, task)
        except Exception as error:
            preparation.done.error = self._evaluator.blame(java, error)
        preparation.done.fragment_log_ends = {name: log.end for name, log in preparation.layout.logs.items()}
        return preparation.done

    def _bring_to_level(self, preparation: _Preparation, task: Prepare) -> None:
        self._append_pending(preparation)
        if task.reopen is not None:
            layout, positions = reopen_fragments(
                preparation.running(), task.reopen["cut"], task.reopen_at, self._evaluator.cutter()
            )
            former, preparation.done.layout, preparation.done.positions = preparation.layout, layout, positions
            self._fragment_logs.register(layout)
            former.close()  # the same rows, opened for a Spark that has died; nothing after a restart
        reported = not task.commit_description
        if preparation.layout.level != task.level and not preparation.layout.whole:
            self._join_up(preparation)
            reported = True
        if preparation.layout.level != task.level:
            self._cut_up(preparation, task)
            reported = True
        if not reported:
            self._commit_description(preparation)
        if task.discard is not None:
            self._fragment_logs.discard(cast(Layout, task.discard))

    def _append_pending(self, preparation: _Preparation) -> None:
        """Rows that are committed, but could not be put inside then."""
        while preparation.done.unappended:
            name, number, output = preparation.done.unappended[0]
            self._fragment_logs.append(name, number, output.table())
            preparation.done.unappended.pop(0)

    def _join_up(self, preparation: _Preparation) -> None:
        """Run all that waits inside, then the query is in one piece again."""
        former, network = preparation.layout, self._network(preparation)
        queues = network.inputs(
            preparation.resume_point.name
        )  # its own: one of a former life has not met the scheduler yet
        for fragment in former.fragments:
            taken = remaining_ranges(preparation.running(), fragment)
            if taken is not None:
                offsets = {place: (each.first, each.last) for place, each in taken.items()}
                self._run(preparation, Portion(replace(preparation.now(), queues=queues), fragment, offsets))
        before = former, preparation.done.positions
        preparation.done.layout, preparation.done.positions = (
            preparation.resume_point.unfragmented,
            whole_positions(preparation.running(), network),
        )
        try:
            self._commit_description(preparation)
        except Exception:  # for whoever opens it again it is in pieces still
            preparation.done.layout, preparation.done.positions = before
            raise
        self._fragment_logs.discard(former)

    def _run(self, preparation: _Preparation, portion: Portion) -> None:
        """One piece on what waits before it, committed."""
        (result,) = self._evaluator.evaluate(Evaluate("join", ((portion,),)))
        if result.error:
            raise HeadgateError(result.error)
        fragment, name = portion.fragment, portion.name
        unreported = _unreported(preparation, result.failures)
        write = WriteCommit(
            positions={name: {key(place): last for place, (_, last) in portion.offsets.items()}},
            outputs={} if result.output is None else {name: result.output},
            intermediate={}
            if fragment.feeds_name is None or result.intermediate is None
            else {fragment.feeds_name: result.intermediate},
            failures=tuple((name, self._stream(preparation), failure) for failure in unreported.values()),
            follower_tables={name: result.follower_tables} if result.follower_tables else {},
        )
        (written,) = self._committer.write((write,))
        preparation.done.steps.append((result, written))
        _mark_reported(preparation, unreported)
        preparation.done.positions.update({place: last for place, (_, last) in portion.offsets.items()})
        for inside, (number, output) in written.unappended.items():
            preparation.done.unappended.append((inside, number, output))
        if written.error is not None:
            raise written.error

    def _cut_up(self, preparation: _Preparation, task: Prepare) -> None:
        assert task.level is not None
        epoch = self._committer.commits.number + 1  # no other cut of this query has it
        running = preparation.running()
        layout, positions, failures = cut_up(
            running, task.level, epoch, self._evaluator.cutter(), self._evaluator.runner, self._ingest.logs
        )
        before = preparation.done.layout, preparation.done.positions
        preparation.done.layout, preparation.done.positions = layout, positions
        self._fragment_logs.register(layout)
        unreported = _unreported(preparation, failures)
        try:
            self._commit_description(
                preparation,
                tuple((preparation.resume_point.name, self._stream(preparation), one) for one in unreported.values()),
            )
        except Exception:
            preparation.done.layout, preparation.done.positions = before
            self._fragment_logs.discard(layout)
            raise
        _mark_reported(preparation, unreported)

    def _commit_description(self, preparation: _Preparation, failures: tuple[tuple[str, str, Any], ...] = ()) -> None:
        resume_point = preparation.now()
        write = WriteCommit(
            queries={resume_point.name: query_description(resume_point)},
            positions={resume_point.name: keyed(resume_point.positions)},
            failures=failures,
        )
        (written,) = self._committer.write((write,))
        preparation.done.description_committed = True
        if written.letters:
            preparation.done.letters.append(written)

    def _backlog(self, preparation: _Preparation, task: Prepare) -> dict[Place, Chunks]:
        """What has come since it stood where it stands."""
        found: dict[Place, Chunks] = {}
        for place, source in preparation.layout.leaves.items():
            position, log = preparation.done.positions[place], preparation.layout.logs.get(source.stream)
            if log is not None:
                found[place] = fragment_rows.arrivals(log.read(position, log.end))
            elif position < task.ends[source.stream]:
                found[place] = self._since(source.stream, position, preparation.resume_point.until.get(place), task)
        return found

    def _since(self, stream: str, position: int, until: int | None, task: Prepare) -> Chunks:
        """When the tuples from a position on came; those that a one-time query does not read may be gone by now."""
        end = task.ends[stream]
        wanted = end if until is None else max(position, min(until, end))
        chunks = self._ingest.chunks(stream, position, wanted) if position < wanted else ()
        return (
            (*chunks, (0.0, end - wanted)) if wanted < end else chunks
        )  # they are held, so nobody asks when they came

    def _network(self, preparation: _Preparation) -> Network:
        query = preparation.resume_point.query
        return Network.of([query], self._ingest.streams.values(), [QueryClass(query.query_class)], share=False)

    @staticmethod
    def _stream(preparation: _Preparation) -> str:
        return min(source.stream for source in preparation.resume_point.unfragmented.leaves.values())


def _unreported(preparation: _Preparation, failures: Iterable[Any]) -> dict[Any, Any]:
    """Failures of which no dead letter tells yet, each once."""
    return {failure.key: failure for failure in failures if failure.key not in preparation.reported}


def _mark_reported(preparation: _Preparation, unreported: Mapping[Any, Any]) -> None:
    preparation.reported |= unreported.keys()
    preparation.done.keys |= unreported.keys()
