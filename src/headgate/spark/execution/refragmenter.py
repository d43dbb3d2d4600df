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
from headgate.spark.execution.cutting import cut_up, left_inside, whole_positions
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.machine.fragments import Chunks, ResumePoint, announced, key, keyed
from headgate.spark.machine.tasks import Evaluate, Portion, Prepare, Prepared, Write
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.resume import cut_before
from headgate.spark.queries.running_query import RunningQuery


@dataclass(slots=True)
class _Way:
    """A query on its way from one form to another: where it stands, as far as it has come."""

    resume_point: ResumePoint
    done: Prepared
    told: set[Any]  # what expressions failed on that is known already

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
        done = Prepared(resume_point.layout, dict(resume_point.positions), {}, {}, owed=list(task.owed))
        way = _Way(resume_point, done, set(task.told))
        try:
            self._come(way, task)
            way.done.backlog = self._backlog(way, task)
        except Exception as error:
            way.done.error = self._evaluator.blame(java, error)
        way.done.inside = {name: log.end for name, log in way.layout.logs.items()}
        return way.done

    def _come(self, way: _Way, task: Prepare) -> None:
        self._put_inside(way)
        if task.known is not None:
            layout, positions = cut_before(way.running(), task.known["cut"], task.at, self._evaluator.cutter())
            former, way.done.layout, way.done.positions = way.layout, layout, positions
            self._fragment_logs.take(layout)
            former.close()  # the same rows, opened for a Spark that has died; nothing after a restart
        told = not task.announce
        if way.layout.level != task.level and not way.layout.whole:
            self._join_up(way)
            told = True
        if way.layout.level != task.level:
            self._cut_up(way, task)
            told = True
        if not told:
            self._announce(way)
        if task.discard is not None:
            self._fragment_logs.leave(cast(Layout, task.discard))

    def _put_inside(self, way: _Way) -> None:
        """Rows that are committed, but could not be put inside then."""
        while way.done.owed:
            name, number, output = way.done.owed[0]
            self._fragment_logs.put(name, number, output.table())
            way.done.owed.pop(0)

    def _join_up(self, way: _Way) -> None:
        """Run all that waits inside, then the query is in one piece again."""
        former, network = way.layout, self._network(way)
        queues = network.inputs(way.resume_point.name)  # its own: one of a former life has not met the scheduler yet
        for fragment in former.fragments:
            taken = left_inside(way.running(), fragment)
            if taken is not None:
                offsets = {place: (each.first, each.last) for place, each in taken.items()}
                self._run(way, Portion(replace(way.now(), queues=queues), fragment, offsets))
        before = former, way.done.positions
        way.done.layout, way.done.positions = way.resume_point.one, whole_positions(way.running(), network)
        try:
            self._announce(way)
        except Exception:  # for whoever opens it again it is in pieces still
            way.done.layout, way.done.positions = before
            raise
        self._fragment_logs.leave(former)

    def _run(self, way: _Way, portion: Portion) -> None:
        """One piece on what waits before it, committed."""
        (result,) = self._evaluator.evaluate(Evaluate("join", ((portion,),)))
        if result.error:
            raise HeadgateError(result.error)
        fragment, name = portion.fragment, portion.name
        fresh = _fresh(way, result.failures)
        write = Write(
            positions={name: {key(place): last for place, (_, last) in portion.taken.items()}},
            outputs={} if result.output is None else {name: result.output},
            inside={} if fragment.feeds_name is None or result.inside is None else {fragment.feeds_name: result.inside},
            failures=tuple((name, self._stream(way), failure) for failure in fresh.values()),
            seen={name: result.seen} if result.seen else {},
        )
        (written,) = self._committer.write((write,))
        way.done.steps.append((result, written))
        _tell(way, fresh)
        way.done.positions.update({place: last for place, (_, last) in portion.taken.items()})
        for inside, (number, output) in written.owed.items():
            way.done.owed.append((inside, number, output))
        if written.error is not None:
            raise written.error

    def _cut_up(self, way: _Way, task: Prepare) -> None:
        assert task.level is not None
        epoch = self._committer.commits.number + 1  # no other cut of this query has it
        running = way.running()
        layout, positions, failures = cut_up(
            running, task.level, epoch, self._evaluator.cutter(), self._evaluator.runner, self._ingest.logs
        )
        before = way.done.layout, way.done.positions
        way.done.layout, way.done.positions = layout, positions
        self._fragment_logs.take(layout)
        fresh = _fresh(way, failures)
        try:
            self._announce(way, tuple((way.resume_point.name, self._stream(way), one) for one in fresh.values()))
        except Exception:
            way.done.layout, way.done.positions = before
            self._fragment_logs.leave(layout)
            raise
        _tell(way, fresh)

    def _announce(self, way: _Way, failures: tuple[tuple[str, str, Any], ...] = ()) -> None:
        resume_point = way.now()
        write = Write(
            queries={resume_point.name: announced(resume_point)},
            positions={resume_point.name: keyed(resume_point.positions)},
            failures=failures,
        )
        (written,) = self._committer.write((write,))
        way.done.announced = True
        if written.letters:
            way.done.letters.append(written)

    def _backlog(self, way: _Way, task: Prepare) -> dict[Place, Chunks]:
        """What has come since it stood where it stands."""
        found: dict[Place, Chunks] = {}
        for place, source in way.layout.leaves.items():
            position, log = way.done.positions[place], way.layout.logs.get(source.stream)
            if log is not None:
                found[place] = fragment_rows.arrivals(log.read(position, log.end))
            elif position < task.ends[source.stream]:
                found[place] = self._since(source.stream, position, way.resume_point.until.get(place), task)
        return found

    def _since(self, stream: str, position: int, until: int | None, task: Prepare) -> Chunks:
        """When the tuples from a position on came; those that a one-time query does not read may be gone by now."""
        end = task.ends[stream]
        wanted = end if until is None else max(position, min(until, end))
        chunks = self._ingest.chunks(stream, position, wanted) if position < wanted else ()
        return (
            (*chunks, (0.0, end - wanted)) if wanted < end else chunks
        )  # they are held, so nobody asks when they came

    def _network(self, way: _Way) -> Network:
        query = way.resume_point.query
        return Network.of([query], self._ingest.streams.values(), [QueryClass(query.query_class)], share=False)

    @staticmethod
    def _stream(way: _Way) -> str:
        return min(source.stream for source in way.resume_point.one.leaves.values())


def _fresh(way: _Way, failures: Iterable[Any]) -> dict[Any, Any]:
    """Failures of which no dead letter tells yet, each once."""
    return {failure.key: failure for failure in failures if failure.key not in way.told}


def _tell(way: _Way, fresh: Mapping[Any, Any]) -> None:
    way.told |= fresh.keys()
    way.done.keys |= fresh.keys()
