"""Drive a policy through random events, as a scheduling core with several workers would."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from headgate.model import ONE_TUPLE, Choice, Idle, Outcome, Unit, WorkerId
from headgate.policies.checks.demand import demand
from headgate.policies.checks.mixed_situation import MIXED
from headgate.policies.checks.simulated_workers import SimulatedWorkers
from headgate.policies.checks.situation import Situation
from headgate.policies.contract import Policy, View
from headgate.stats import Stats

WORKERS = 2


class RandomRun:
    """A run of random events: tuples arrive, workers ask for work and finish it, statistics change.

    Events depend on the seed and on the policy's decisions, never on the order in which the policy hears of units that
    became ready (`shuffle`). Every decision is checked: what is chosen must be able to run, and the policy must not
    be idle for ever while a unit can run.

    >>> from headgate.policies.registry import create
    >>> RandomRun(create("fcfs")).step(20).decisions[:3]
    [('one',), ('two',), ('free',)]
    """

    def __init__(
        self,
        policy: Policy,
        situation: Situation = MIXED,
        *,
        seed: int = 0,
        shuffle: int = 0,
        stats: Callable[[Stats], Stats] | None = None,  # lets somebody stand between the policy and its statistics
    ) -> None:
        self.policy = policy
        self.decisions: list[tuple[str, ...]] = []
        self.watch: Callable[[View, Choice], None] = lambda view, choice: None  # sees every choice before it is run
        self.view = situation.view(policy)
        if stats is not None:
            self.view.stats = stats(self.view.stats)
        self._random = Random(seed)
        self._shuffle = Random(shuffle) if shuffle else None
        self._workers = SimulatedWorkers(self.view, self._random)
        self._listed: list[tuple[Unit, Choice]] = []
        self.view.units = {unit.id: unit for unit in self._shuffled(list(self.view.units.values()))}
        self.notify_all()

    def step(self, steps: int) -> RandomRun:
        """Let this many random events happen."""
        events = [self._arrive] * 5 + [self._ask] * 5 + [self._finish] * 4
        for _ in range(steps):
            self.view.now += self._random.randrange(4) / 64
            event = self.notify_all if self._random.random() < 0.02 else self._random.choice(events)
            event()
        return self

    def drain(self, patience: int = 5000) -> RandomRun:
        """Run until nothing waits."""
        for _ in range(patience):
            if self._workers.quiet:
                return self
            self.view.now += 1 / 64
            self._ask()
            self._finish()
        waiting = sum(map(len, self.view.queues.values()))
        raise AssertionError(f"{self.policy}: {waiting} tuples still wait after {patience} decisions")

    def notify_all(self) -> None:
        """Notify the policy of everything again, as after a change of statistics."""
        self.policy.changed(self.view)
        self._notify_ready(list(self.view.ready.values()))

    def _arrive(self) -> None:
        before = self._workers.heads()
        queue = self._workers.arrive()
        self._notify_ready(self._workers.woken(before))
        self.policy.grown(self.view, (queue,))

    def _finish(self) -> None:
        if self.view.running:
            before = self._workers.heads()
            run, queues = self._workers.finish()
            self.policy.finished(self.view, run, Outcome(run, self.view.now - run.began))
            self._notify_ready(self._workers.woken(before))
            self.policy.grown(self.view, queues)

    def _ask(self) -> None:
        worker = self._random.randrange(WORKERS)
        if worker not in self.view.running:
            while self._listed:
                unit, choice = self._listed.pop(0)
                if unit.id in self.view.ready:
                    return self._workers.start((unit,), choice.train or ONE_TUPLE, worker)
            self._decide(worker)
        return None

    def _decide(self, worker: WorkerId) -> None:
        decision = self.policy.choose(self.view, worker)
        if isinstance(decision, Idle):
            return self._idle(decision)
        units = self._chosen(decision)
        self.watch(self.view, decision)
        first = len(units) if decision.together else 1
        self._listed = [(unit, decision) for unit in units[first:]]
        return self._workers.start(units[:first], decision.train or ONE_TUPLE, worker)

    def _chosen(self, choice: Choice) -> tuple[Unit, ...]:
        names = tuple(map(str, choice.units))
        self.decisions.append(names)
        demand(names, f"{self.policy} chose no unit at all; it should have returned Idle")
        demand(len({unit.id for unit in choice.units}) == len(names), f"{self.policy} lists a unit twice: {names}")
        for unit in choice.units:
            demand(unit.id in self.view.ready, f"{self.policy} chose {unit}, which cannot run")
        return tuple(self.view.units[unit.id] for unit in choice.units)

    def _idle(self, idle: Idle) -> None:
        self.decisions.append(())
        left = ", ".join(map(str, self.view.ready.values()))
        demand(not left or math.isfinite(idle.until), f"{self.policy} is idle for ever, but {left} can run")
        if self.view.now < idle.until < math.inf:
            self.view.now = idle.until

    def _notify_ready(self, units: list[Unit]) -> None:
        for unit in self._shuffled(units):
            self.policy.ready(self.view, unit)

    def _shuffled(self, units: list[Unit]) -> list[Unit]:
        if self._shuffle is not None:
            self._shuffle.shuffle(units)
        return units
