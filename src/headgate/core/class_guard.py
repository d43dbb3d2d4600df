"""Keeps more important classes apart from the others: short runs, cancelled runs, and workers that stay free.

The policy decides who is next; this decides how long a run of a lower class may be, whether it may begin at all, and
whether it is cancelled for something more important. Pure, as the scheduler that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

from headgate.model import ClassId, OperatorId, Run, Unit, WorkerId
from headgate.model.isolation import AUTO, Isolation
from headgate.plan.network import Network
from headgate.stats.cost import CostModel

QUIET = 5.0  # seconds after which a worker is kept no longer for a class to which nothing comes
OVERHEADS = 3.0  # an automatic slice is so many times what a run costs before it touches a tuple
OVERHEADS_BESIDE_KEPT = 10.0  # while a worker is kept for the highest class: then runs of others are in nobody's way
AT_LEAST = 3.0  # and no run is cut below so many times its own fixed cost, or overhead would eat the machine
GROWTH, LARGEST = 2.0, 8.0  # a slice grows while nothing more important waits, up to so many times
PATIENT = 5.0  # seconds: what has waited n times that long may take n slices
LONGEST = 5.0  # seconds that a run of the highest class may take
CANCELLING = 0.1  # seconds from the decision to cancel a run until its worker is free (42 to 165 ms on Spark)
ONCE = 1  # so often a unit's runs are cancelled in a row; then one of them ends for certain

Key = tuple[OperatorId, ...]


@dataclass(slots=True)
class _Expected:
    """A run under way: when it will end by the cost model."""

    run: Run
    seconds: float
    returnable: bool = False  # its tuples can be given back: the policy in charge when it began cancels runs
    cancelled: bool = False
    freed: bool = False  # its worker does something else by now
    waited: bool = False  # something more important came meanwhile

    def left(self, now: float) -> float:
        """Seconds until it ends by the cost model; one that is over its time is thought to take a quarter longer."""
        spent = now - self.run.began
        return self.seconds - spent if spent < self.seconds else spent / 4


class ClassGuard:
    """Knows the classes of a network and the runs under way, and applies the settings `slice`, `keep` and `preempt`."""

    def __init__(self, isolation: Isolation, workers: int, former: ClassGuard | None = None) -> None:
        self.isolation, self.workers = isolation, workers
        self._priorities: dict[ClassId, float] = {}
        self._highest = 0.0
        self._came: float = -QUIET if former is None else former._came  # when the highest class last had work
        self._under_way: dict[WorkerId, _Expected] = {} if former is None else former._under_way
        self._growth: dict[ClassId, float] = {}
        self._cancels: dict[Key, int] = {} if former is None else former._cancels  # in a row, by unit
        self._arrived: dict[Key, float] = {} if former is None else former._arrived  # when units last became ready
        self._owed: list[float] = []  # priorities of cancelled runs whose workers have not gone to something above them

    def follow(self, network: Network) -> None:
        """Adopt a network's classes."""
        used = {query.query_class for query in network.queries.values()}
        self._priorities = {name: network.classes[name].priority for name in used}
        self._highest = max(self._priorities.values(), default=0.0)
        self._forget_units(network)

    def _forget_units(self, network: Network) -> None:
        """Forget units that are gone, and arrivals from before all runs under way, which count for none to come."""
        self._cancels = {calls: count for calls, count in self._cancels.items() if _exists(calls, network)}
        newest = max(self._arrived.values(), default=0.0)
        oldest = min([newest, *(entry.run.began for entry in self._under_way.values())])
        self._arrived = {calls: moment for calls, moment in self._arrived.items() if moment >= oldest}

    @property
    def busy(self) -> bool:
        """Whether runs are under way."""
        return bool(self._under_way)

    # -- room --------------------------------------------------------------------------------------------------

    def lower(self, unit: Unit) -> bool:
        """Whether a unit belongs to a class below the highest."""
        return self._priority(unit) < self._highest

    def room(self, ready: Iterable[Unit], now: float) -> Callable[[Unit], bool] | None:
        """Which units may be chosen now; None: all of them.

        A run was cancelled for something more important, so that goes first, whatever the policy would choose: else
        `fcfs` would run the cancelled unit again, as its tuples are the oldest.
        """
        full = self.is_full(now)
        while self._owed:
            above = self._owed[-1]

            def comes_first(unit: Unit, above: float = above) -> bool:
                return self._priority(unit) > above and not (full and self.lower(unit))

            if any(map(comes_first, ready)):
                return comes_first
            self._owed.pop()
        return (lambda unit: not self.lower(unit)) if full else None

    def renounce(self) -> bool:
        """Let the policy choose freely again, as it runs nothing of what runs were cancelled for; False: none were."""
        owed, self._owed = self._owed, []
        return bool(owed)

    def is_full(self, now: float) -> bool:
        """Whether no further run of a lower class may begin: the rest of the workers is kept for the highest class."""
        kept = self._kept(now)
        if not kept:
            return False
        lower = sum(self.lower(entry.run.units[0]) for entry in self._under_way.values() if not entry.freed)
        return lower >= self.workers - kept

    def lifted(self) -> float:
        """When workers are kept no longer, if nothing comes to the highest class until then."""
        return self._came + QUIET if self.isolation.keep == AUTO else inf

    def _kept(self, now: float) -> int:
        keep = self.isolation.keep
        if keep == AUTO:
            keep = 1 if now < self._came + QUIET else 0
        assert isinstance(keep, int)
        return min(keep, self.workers - 1)

    # -- slices ------------------------------------------------------------------------------------------------

    def seconds(self, unit: Unit, model: CostModel, overhead: float, now: float, waited: float = 0.0) -> float | None:
        """How long a run of a unit may take whose oldest tuple has `waited` so long; None: as long as it likes.

        What has waited for long gets a longer run: else a unit whose tuples do not fit its turns would fall behind for
        ever. And a run of the highest class does not keep the others waiting without limit.
        """
        wanted = self.isolation.slice
        if wanted is None:
            return None
        if not self.lower(unit):
            return max(LONGEST, AT_LEAST * model.fixed)
        overheads = OVERHEADS_BESIDE_KEPT if self._kept(now) else OVERHEADS
        seconds = overheads * overhead if wanted == AUTO else float(wanted)
        seconds *= max(self._growth.get(unit.payer, 1.0), waited / PATIENT)
        if self._cancels.get(unit.calls):
            seconds /= 2
        return max(seconds, AT_LEAST * model.fixed)

    # -- runs --------------------------------------------------------------------------------------------------

    def came(self, unit: Unit, now: float) -> None:
        """A unit has become ready."""
        self._arrived[unit.calls] = now
        priority = self._priority(unit)
        if priority == self._highest:
            self._came = now
        busy = [entry for entry in self._under_way.values() if not entry.freed]
        if len(busy) >= self.workers:  # else it need not wait
            for entry in busy:
                if self._priority(entry.run.units[0]) < priority:
                    entry.waited = True

    def started(self, run: Run, seconds: float) -> None:
        """A run has begun that will take so many seconds by the cost model."""
        self._under_way[run.worker] = _Expected(run, seconds, self.isolation.preempt)
        if self._owed and self._priority(run.units[0]) > self._owed[-1]:
            self._owed.pop()
        if not self.lower(run.units[0]):
            self._came = run.began

    def adopt(self, runs: Iterable[Run]) -> None:
        """Take notice of runs under way that began under a policy that did not keep classes apart."""
        for run in runs:
            self._under_way.setdefault(run.worker, _Expected(run, 0.0))

    def ended(self, run: Run, waiting: Iterable[Unit]) -> None:
        """A run has ended, and these units wait now."""
        entry = self._under_way.pop(run.worker, None)
        if entry is None:
            return
        unit = run.units[0]
        self._cancels.pop(unit.calls, None)
        own = self._priority(unit)
        if entry.waited or any(self._priority(other) > own for other in waiting):
            self._growth[unit.payer] = 1.0
        else:
            self._growth[unit.payer] = min(LARGEST, GROWTH * self._growth.get(unit.payer, 1.0))

    def freed(self, run: Run) -> None:
        """A run's worker is free again, while its results are being stored: it takes no room any more."""
        if run.worker in self._under_way:
            self._under_way[run.worker].freed = True

    def was_cancelled(self, run: Run) -> None:
        """A run has given way: its worker goes to something more important first."""
        entry = self._under_way.pop(run.worker, None)
        if entry is not None:
            calls = run.units[0].calls
            self._cancels[calls] = self._cancels.get(calls, 0) + 1
            self._growth[run.units[0].payer] = 1.0
            self._owed.append(self._priority(run.units[0]))

    # -- preemption --------------------------------------------------------------------------------------------

    def to_cancel(self, waiting: Iterable[Unit], now: float) -> Run | None:
        """The run that gives way to the most important of some units, if that is worth what it has done so far.

        By the cost model some worker will be free after `left` seconds; to cancel a run takes a moment, and the seconds
        that it has had must be spent again. That is weighed by the priorities of both: it is cancelled if

            P(waiting) · (left − moment) > P(run) · (spent + moment)

        Only units count whose tuples came after the run had begun: else the policy chose it although they waited.
        """
        busy = {worker: entry for worker, entry in self._under_way.items() if not entry.freed}
        if not self.isolation.preempt or len(busy) < self.workers or any(entry.cancelled for entry in busy.values()):
            return None  # a worker is free, or will be in a moment
        arrived = [(self._arrived.get(unit.calls, -inf), self._priority(unit)) for unit in waiting]
        left = min(entry.left(now) for entry in busy.values())
        worth: list[tuple[float, float, WorkerId]] = []
        for worker, entry in busy.items():
            unit = entry.run.units[0]
            own = self._priority(unit)
            best = max((priority for since, priority in arrived if since >= entry.run.began), default=0.0)
            if own >= best or not entry.returnable or self._cancels.get(unit.calls, 0) >= ONCE:
                continue
            gain = self._gain(best, own, left, now - entry.run.began)
            if gain > 0:
                worth.append((gain, entry.left(now), worker))
        if not worth:
            return None
        entry = self._under_way[max(worth)[-1]]
        entry.cancelled = True
        return entry.run

    def _gain(self, best: float, own: float, left: float, spent: float) -> float:
        """What is gained by cancelling a run, in seconds times priority."""
        return best * (left - CANCELLING) - own * (spent + CANCELLING)

    def _priority(self, unit: Unit) -> float:
        return self._priorities.get(unit.payer, 0.0)


def _exists(calls: Key, network: Network) -> bool:
    return all(number in network.nodes for number in calls)
