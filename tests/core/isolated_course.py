"""A random course of events under policies that keep classes apart: runs end, or are cancelled and done again."""

from __future__ import annotations

from typing import NamedTuple

from tests.core.builders import QUERIES
from tests.core.course import Course

from headgate.core import PolicyChanged, QueryAdded, QueryRemoved, Scheduler
from headgate.model import Idle, Outcome, QueueId, Run, Unit, WorkerId

POLICIES = ("mbd", "rr", "fcfs", "hnr", "express", "abd", "chain", "fcfs, train=all", "hr, level=operator, train=2")
SETTINGS = (
    "",
    "slice=auto",
    "slice=10ms",
    "preempt=class",
    "preempt=class, keep=1",
    "slice=10ms, preempt=class, keep=2",
    "keep=auto, preempt=class, slice=auto",
)


def named(policy: str, settings: str) -> str:
    """A policy with settings that keep classes apart; `abd` has a slice of its own, which is another thing."""
    parts = [part for part in settings.split(", ") if part and not (policy == "abd" and part.startswith("slice"))]
    return ", ".join([policy, *parts])


class Cancelled(NamedTuple):
    """What a run took, in case it is cancelled: by queue its first offset and the arrivals."""

    takes: list[tuple[QueueId, int, list[float]]]


class IsolatedCourse(Course):
    """Runs may be cancelled, by chance or as the scheduler asks; what they took must come again, in order."""

    def __init__(self, scheduler: Scheduler, seed: int, *, frontiers: bool = False) -> None:
        super().__init__(scheduler, seed, frontiers=frontiers)
        self.taken: dict[WorkerId, Cancelled] = {}
        self.done = dict(self.passed)  # offsets behind what finished runs took
        self.gone: dict[WorkerId, set[QueueId]] = {}  # queues that were closed while a run of theirs was under way
        self.cancels = 0

    def step(self) -> None:
        self.now += self.random.randrange(3) / 64
        acts = [self.arrive] * 6 + [self.ask] * 8 + [self.finish] * 4 + [self.cancel, *[self.make_room] * 4]
        acts += [self.add, self.remove, self.move, self.prioritize, self.learn]
        acts += [self.hold] * (2 if self.frontiers else 0)
        acts += [self.change_policy] * self.random.randrange(2)
        self.random.choice(acts)()
        self.agree()

    def ask(self) -> None:
        worker = self.random.randrange(self.scheduler.workers)
        if worker in self.scheduler.running:
            return
        able, busy = self.able(), self.lower_runs()
        run = self.scheduler.next(worker, self.now)
        if isinstance(run, Idle):
            hidden = {number for number in able if self.lower(self.view.units[number])}
            assert able == hidden
            assert not able or busy >= self.scheduler.workers - self.most_kept > 0
            return
        assert {unit.id for unit in run.units} <= able
        if self.lower(run.units[0]):
            assert busy < self.scheduler.workers - self.least_kept
        others = [other.calls for key, other in self.scheduler.running.items() if key != worker]
        assert all(set(run.calls).isdisjoint(calls) for calls in others)
        takes = [(queue, first, self.waiting[queue][: behind - first]) for queue, first, behind in run.takes]
        self.taken[worker] = Cancelled(takes)
        self.gone[worker] = set()
        self.results[worker] = self._carry_out(run)

    def finish(self) -> None:
        before = dict(self.scheduler.running)
        super().finish()
        for worker in before.keys() - self.scheduler.running.keys():
            for queue, first, behind in before[worker].takes:
                if queue not in self.gone[worker]:
                    assert self.done[queue] == first  # once, and in order
                    self.done[queue] = behind

    def make_room(self) -> None:
        """Do as the driver does when no worker is free."""
        if len(self.scheduler.running) == self.scheduler.workers:
            run = self.scheduler.to_cancel(self.now)
            if run is not None:
                waiting = [self.priority(unit) for unit in self.view.ready.values()]
                assert self.priority(run.units[0]) < max(waiting)
                self._cancel(run)

    def cancel(self) -> None:
        """Cancel a run though nobody asks for it: all that began under a policy that cancels runs may be."""
        returnable = [
            run
            for worker, run in sorted(self.scheduler.running.items())
            if (apart := self.scheduler._apart) is not None and apart._under_way[worker].returnable
        ]
        if returnable:
            self._cancel(self.random.choice(returnable))

    def remove(self) -> None:
        names = sorted(self.network.queries)
        if len(names) > 1:
            self.scheduler.event(QueryRemoved(self.random.choice(names)), self.now)
            self._rewired()

    def add(self) -> None:
        # Not one with a run under way: what that still gives would be meant for it.
        busy = {name for run in self.scheduler.running.values() for unit in run.units for name in unit.queries}
        absent = [query for query in QUERIES if query.name not in self.network.queries.keys() | busy]
        if absent:
            self.scheduler.event(QueryAdded(self.random.choice(absent)), self.now)
            self._rewired()

    def change_policy(self) -> None:
        policy = named(self.random.choice(POLICIES), self.random.choice(SETTINGS))
        self.scheduler.event(PolicyChanged(policy), self.now)

    def drain(self) -> None:
        super().drain()
        assert self.done == {queue.id: queue.log.end for queue in self.scheduler.queues()}
        assert all(queue.pinned is None for queue in self.scheduler.queues())  # else logs would grow for ever

    # -- the plain model ---------------------------------------------------------------------------------------

    def priority(self, unit: Unit) -> float:
        return self.network.classes[unit.payer].priority if unit.payer in self.used_classes else 0.0

    @property
    def used_classes(self) -> set[str]:
        return {query.query_class for query in self.network.queries.values()}

    def lower(self, unit: Unit) -> bool:
        return self.priority(unit) < max(self.network.classes[name].priority for name in self.used_classes)

    def lower_runs(self) -> int:
        return sum(self.lower(run.units[0]) for run in self.scheduler.running.values())

    @property
    def least_kept(self) -> int:
        keep = self.scheduler.policy.isolation.keep
        return 0 if isinstance(keep, str) else min(keep, self.scheduler.workers - 1)

    @property
    def most_kept(self) -> int:
        return 1 if isinstance(self.scheduler.policy.isolation.keep, str) else self.least_kept

    def _cancel(self, run: Run) -> None:
        self.cancels += 1
        self.results.pop(run.worker)
        self.scheduler.cancelled(Outcome(run, self.now - run.began, "cancelled"), self.now)
        for queue, first, arrivals in self.taken[run.worker].takes:
            if queue not in self.gone[run.worker]:
                self.waiting[queue][:0] = arrivals
                self.passed[queue] = first

    def _rewired(self) -> None:
        for gone in self.gone.values():
            gone |= self.waiting.keys() - self.network.edges.keys()
        super()._rewired()
        self.done = {queue: self.done.get(queue, self.passed[queue]) for queue in self.waiting}
