"""The scheduling core: events in, runs out.

Pure: it reads no clock, starts no thread, does no I/O. The simulator and the engine drive the same scheduler with the
same policies; each call carries its own `now`. Ready units are tracked as events happen, never searched for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from headgate.core.class_guard import ClassGuard
from headgate.core.events import (
    Arrived,
    Declared,
    Event,
    Frontier,
    PolicyChanged,
    PriorityChanged,
    QueriesAdded,
    QueryAdded,
    QueryMoved,
    QueryRemoved,
    StatisticsChanged,
    Undeclared,
)
from headgate.core.network_queues import NO_BACKLOG, Chunks, NetworkQueues
from headgate.core.queues import TupleQueue
from headgate.core.unit_formation import UnitFormation, same_units
from headgate.core.units import CoreView, RoomView, UnitState, shared_operators
from headgate.model import (
    ONE_TUPLE,
    Choice,
    Idle,
    Level,
    Outcome,
    Produced,
    Run,
    Taken,
    Train,
    Unit,
    UnitId,
    Why,
    WorkerId,
    unknown,
)
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.policies.contract import Policy, Reading
from headgate.policies.registry import create
from headgate.stats import Measured, Stats

_NONE = float("inf")
_new = tuple.__new__  # a named tuple's own constructor takes twice as long
REFRESH = 200  # input tuples between two updates from measured statistics (Al Moakar 2013)


class Scheduler:
    """Decides what each worker runs next.

    >>> from headgate.model import Given, Query, QueryClass, Select, Source, Stream
    >>> def query(name, cost):
    ...     plan = Select(inputs=(Source("s"),), given=Given(cost=cost))
    ...     return Query(name=name, query_class="c", plan=plan)
    >>> network = Network.of([query("slow", 0.005), query("quick", 0.002)], [Stream(name="s")], [QueryClass("c")])
    >>> scheduler = Scheduler(network, "hr")
    >>> scheduler.event(Arrived("s", arrival=0.0), now=0.0)
    >>> run = scheduler.next(worker=0, now=0.0)
    >>> run.units[0].name, run.takes
    ('quick', ((1, 0, 1),))
    >>> scheduler.finished(Outcome(run, seconds=0.002), now=0.002)
    >>> scheduler.next(worker=0, now=0.002).units[0].name
    'slow'
    """

    def __init__(
        self,
        network: Network,
        policy: str | Policy,
        *,
        measured: Measured | None = None,
        learn: bool = False,
        train: Train = ONE_TUPLE,
        fuse: Fuse = Fuse.OFF,
        seed: int = 0,
        rest: float = 0.0,
        guard: Callable[[Policy], Policy] | None = None,
        workers: int = 1,
        sources_last: bool = False,
    ) -> None:
        self.network = network
        self.workers = workers
        self.sources_last = sources_last  # read sources only when nothing else can run, whatever the policy
        self.measured = measured or Measured.of(network)
        self.stats = Stats(network, self.measured)
        self.explaining = False  # compute `why` at every decision
        self.why: Why | None = None
        self.taken: Taken | None = None  # what the newest run took; only while explaining
        self.running: dict[WorkerId, Run] = {}
        self.decisions = 0
        self.runs = 0
        self.learn = learn
        self.train = train
        self.fuse = fuse
        self.seed = seed
        self.rest = rest  # seconds per operator between two updates of statistics, whose cost grows with the operators
        self._guard = guard  # wraps every policy, to handle its failures
        self._since_refresh = 0
        self._refreshed = 0.0
        self._unit_formation = UnitFormation()
        self._network_queues = NetworkQueues()
        self._logs = self._network_queues.logs  # these two are shared: kept here too because every event reads them
        self._queues = self._network_queues.queues
        self._holding: dict[WorkerId, tuple[UnitState, ...]] = {}  # what a run blocks, if not what its unit blocks
        self._stale: set[WorkerId] = set()  # whose runs are of units that have been replaced
        self._listed: deque[tuple[Unit, Choice]] = deque()
        self._states: dict[UnitId, UnitState] = {}
        self._ready: dict[UnitId, Unit] = {}
        self._apart: ClassGuard | None = None  # None: the policy does not keep classes apart
        self._hiding = False  # the policy was last asked about the highest class only
        self._reads_last = False  # there are sources, and they come last
        self._passed_over = False  # the policy was asked without them
        self._predicted: dict[WorkerId, tuple[int, float | None]] = {}  # other runs beside each, and its seconds
        self._follow(network)
        self._use(policy, 0.0)

    # -- events ------------------------------------------------------------------------------------------------

    def event(self, event: Event, now: float) -> None:
        """Take notice of an event: wake the units that can run because of it."""
        self._view.now = now
        if type(event) is Arrived:
            logs = self._logs.get(event.stream)
            if logs is None:
                raise unknown("stream", event.stream, self._logs)
            for log in logs:
                self._wake(log.append(event.arrival, event.tuples))
                if self._grown is not None:
                    self._grown(self._view, [queue.id for queue in log.queues])
        else:
            self._handlers[type(event)](self, event, now)

    def _frontier(self, event: Frontier, now: float) -> None:
        queue = self._queues[event.queue]
        if self._grown is not None:
            self._grown(self._view, (queue.id,))
        if event.upto > (queue.upto or 0):
            queue.released = now
        if queue.hold_beyond(event.upto):
            for state in queue.states:
                if queue is not state.queue:
                    state.queue = None
            self._wake([queue])
        elif queue.head == _NONE:
            for state in queue.states:
                if state.oldest == _NONE:
                    self._ready.pop(state.id, None)

    def _declared(self, event: Declared, now: float) -> None:
        self._rewire(self.network.declare(event.stream, event.query_class), now)

    def _undeclared(self, event: Undeclared, now: float) -> None:
        if event.stream is not None:
            self.measured.rates.pop(event.stream, None)
        self._rewire(self.network.undeclare(event.stream, event.query_class), now)

    def _query_added(self, event: QueryAdded, now: float) -> None:
        self._rewire(self.network.add(event.query), now, event.backlog)

    def _queries_added(self, event: QueriesAdded, now: float) -> None:
        self._rewire(self.network.add_all(event.queries), now, event.backlog)

    def _query_removed(self, event: QueryRemoved, now: float) -> None:
        self._rewire(self.network.remove(event.name), now)

    def _query_moved(self, event: QueryMoved, now: float) -> None:
        self._rewire(self.network.move(event.name, event.query_class), now)

    def _priority_changed(self, event: PriorityChanged, now: float) -> None:
        self._rewire(self.network.prioritize(event.query_class, event.priority), now)

    def _policy_changed(self, event: PolicyChanged, now: float) -> None:
        self._use(event.policy, now, None if event.fuse is None else Fuse(event.fuse))

    def _statistics_changed(self, event: StatisticsChanged, now: float) -> None:
        if event.operator is not None and event.operator in self.measured.operators:
            operator = self.measured.operators[event.operator]
            operator.cost = operator.cost if event.cost is None else event.cost
            operator.selectivity = operator.selectivity if event.selectivity is None else event.selectivity
        if event.stream is not None and event.rate is not None:
            self.measured.rates[event.stream] = event.rate
        self._since_refresh = REFRESH
        self._refresh_if_due(now)

    _handlers: dict[type, Callable[..., None]] = {  # noqa: RUF012
        Frontier: _frontier,
        Declared: _declared,
        Undeclared: _undeclared,
        QueryAdded: _query_added,
        QueriesAdded: _queries_added,
        QueryRemoved: _query_removed,
        QueryMoved: _query_moved,
        PriorityChanged: _priority_changed,
        PolicyChanged: _policy_changed,
        StatisticsChanged: _statistics_changed,
    }

    # -- decisions ---------------------------------------------------------------------------------------------

    def next(self, worker: WorkerId, now: float) -> Run | Idle:
        """What a worker runs next; Idle where there is nothing for it."""
        view: CoreView | RoomView = self._view
        view.now = now
        if self._apart is not None:
            view = self._with_room(self._apart, now)
        everything = view
        if self._reads_last:
            view = self._without_sources(view)
        if self._listed and (listed := self._next_listed(view)) is not None:
            unit, earlier = listed
            return self._start((unit,), earlier, worker, now)
        choice = self._choose(view, worker)
        if isinstance(choice, Idle) and view is not everything:
            self._tell_of_sources()
            view, choice = everything, self._choose(everything, worker)
        if isinstance(choice, Idle):
            if self._hiding and self._apart is not None:
                if self._apart.renounce():
                    return Scheduler.next(self, worker, now)
                return Idle(min(choice.until, self._apart.lifted()))
            return choice
        self.decisions += 1
        if self.explaining:
            self.why = self.policy.explain(view, choice)
        units = choice.units
        if len(units) > 1:
            if choice.together:
                return self._start_together(choice, worker, now)
            self._listed.extend((unit, choice) for unit in units[1:])
            units = units[:1]
        return self._start(units, choice, worker, now)

    def finished(self, outcome: Outcome, now: float) -> None:
        """Take notice of the end of a run: queue its output, and unblock units that share operators with it."""
        run, _, _, _, produced, _, _ = outcome  # taken apart: quicker than by name
        _, worker, units, _, _, _ = run
        view = self._view
        view.now = now
        del self.running[worker]
        if self._wants_finished and worker not in self._stale:
            self.policy.finished(view, run, outcome)
        for queue_number, chunks in produced:
            self._append(queue_number, chunks)
        if self._apart is not None:
            self._network_queues.unpin(run.takes)
            self._apart.ended(run, self._ready.values())
        self._unblock(worker, units[0])
        if self.learn:
            self._observe(outcome, now)

    def to_cancel(self, now: float) -> Run | None:
        """The run under way that is to be cancelled for something more important, if any; asked when no worker is free.

        The driver cancels it and says so with `cancelled`, or with `finished` if the run was quicker.
        """
        self._view.now = now
        return None if self._apart is None else self._apart.to_cancel(self._ready.values(), now)

    def freed(self, run: Run, now: float) -> None:
        """Take notice that a run's worker is free again although the run is not over: its results are being stored."""
        self._view.now = now
        if self._apart is not None:
            self._apart.freed(run)

    def cancelled(self, outcome: Outcome, now: float) -> None:
        """Take notice that a run was cancelled and nothing of it counts: its tuples wait again."""
        run = outcome.run
        self._view.now = now
        del self.running[run.worker]
        if self._wants_finished and run.worker not in self._stale:
            self.policy.finished(self._view, run, outcome)
        for queue in self._network_queues.give_back(run.takes):
            if self._grown is not None:
                self._grown(self._view, (queue.id,))
        self._predicted.pop(run.worker, None)
        if self._apart is not None:
            self._apart.was_cancelled(run)
        self._unblock(run.worker, run.units[0])

    def _unblock(self, worker: WorkerId, first: Unit) -> None:
        """Let units run again that a run blocked which is over."""
        if self._stale:
            self._stale.discard(worker)
        blocks = self._holding.pop(worker) if worker in self._holding else self._states[first.id].blocks
        for state in blocks:
            state.blocked -= 1
            if not state.blocked:
                queue = state.queue
                if (queue.head if queue is not None else state.oldest) != _NONE:
                    unit = self._ready[state.id] = state.unit
                    self._notify_ready(self._view, unit)

    @property
    def wants_answers(self) -> bool:
        """Whether response times are to be told (`Outcome.answered`)."""
        return self.policy.wants_answers

    def predicted(self, worker: WorkerId) -> float | None:
        """How many seconds the run under way on a worker takes by the cost model, if that is known."""
        return self._predicted.get(worker, (0, None))[1]

    def is_lower(self, unit: Unit) -> bool:
        """Whether a unit belongs to a class below the highest one, and classes are to be kept apart."""
        return self._apart is not None and self._apart.lower(unit)

    @property
    def waiting(self) -> int:
        """How many tuples wait in all queues; those that several queries await count once for each."""
        return sum(map(len, self._queues.values()))

    @property
    def queued(self) -> int:
        """How many units are ready and wait for a worker."""
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Nothing is ready and nothing runs."""
        return not self._ready and not self.running

    @property
    def units(self) -> Iterable[Unit]:
        """All units, ready or not."""
        return [state.unit for state in self._states.values()]

    @property
    def states(self) -> Iterable[UnitState]:
        """All units with their queues and what their runs block."""
        return self._states.values()

    @property
    def view(self) -> CoreView:
        """What the policy sees."""
        return self._view

    def queue(self, number: int) -> TupleQueue:
        return self._queues[number]

    def queues(self) -> Iterable[TupleQueue]:
        return self._queues.values()

    def _start(self, units: tuple[Unit, ...], choice: Choice, worker: WorkerId, now: float) -> Run:
        unit = units[0]
        state = self._states[unit.id]
        queue, train = state.queue, choice.train or self.train
        if self._apart is not None:
            train = self._cut(self._apart, state, train)
        if self.explaining:
            self.taken = state.taken()
        pins = self._apart is not None and self._pin((state,))
        takes = (queue.take_one(),) if queue is not None and train.at_most == 1 else state.takes(train)
        if pins:
            state.unpin_all_but(takes)
        ready = self._ready
        for held in state.blocks:
            held.blocked += 1
            ready.pop(held.id, None)
        self.runs = number = self.runs + 1
        calls = unit.calls
        if choice.calls:
            calls = tuple(call for call in choice.calls if call in unit.calls)
        run = self.running[worker] = _new(Run, (number, worker, units, takes, calls, now))
        if self._apart is not None or self.measured.fits_overhead:
            self._predict(run)
        return run

    def _start_together(self, choice: Choice, worker: WorkerId, now: float) -> Run:
        """Start several units as one run."""
        states = [self._states[unit.id] for unit in choice.units]
        train = choice.train or self.train
        if self.explaining:
            parts = [state.taken() for state in states]
            released = [part.released for part in parts if part.released is not None]
            self.taken = Taken(min(part.oldest for part in parts), max(released, default=None))
        pins = self._pin(states)
        takes = tuple(take for state in states for take in state.takes(train))
        if pins:
            for state in states:
                state.unpin_all_but(takes)
        calls = tuple(dict.fromkeys(call for unit in choice.units for call in unit.calls))
        holding = tuple({id(held): held for state in states for held in state.blocks}.values())
        for held in holding:
            held.blocked += 1
            self._ready.pop(held.id, None)
        self._holding[worker] = holding
        self.runs += 1
        run = self.running[worker] = Run(self.runs, worker, choice.units, takes, choice.calls or calls, now)
        if self._apart is not None or self.measured.fits_overhead:
            self._predict(run)
        return run

    def _next_listed(self, view: CoreView | RoomView) -> tuple[Unit, Choice] | None:
        """The next unit of an earlier decision that can still run."""
        while self._listed:
            unit, choice = self._listed.popleft()
            if unit.id in view.ready:
                return unit, choice
        return None

    def _predict(self, run: Run) -> None:
        """Note how long a run will take by the cost model; nobody knows while costs are fitted and it has not run."""
        unit, others = run.units[0], len(self.running) - 1
        known = not self.measured.fits_overhead or self.measured.model(unit) is not None
        model = self.measured.model(unit, others) or self.stats.model(unit)
        seconds = model.seconds(run.tuples / len(unit.entries))
        self._predicted[run.worker] = others, seconds if known else None
        if self._apart is not None:
            self._apart.started(run, seconds)

    # -- sources -----------------------------------------------------------------------------------------------

    def _come_last(self) -> bool:
        """Whether sources, if there are any, are read only when nothing else can run."""
        reading = self.policy.reading
        return reading is not Reading.OWN and (self.sources_last or (reading is Reading.LAST and self.workers == 1))

    def _without_sources(self, view: CoreView | RoomView) -> CoreView | RoomView:
        """What the policy may choose from: sources only while nothing else can run."""
        if any(unit.level is not Level.SOURCE for unit in view.ready.values()):
            self._passed_over = True
            return RoomView(self._view, lambda unit: unit.level is not Level.SOURCE and unit.id in view.ready)
        self._tell_of_sources()
        return view

    def _tell_of_sources(self) -> None:
        """The policy may have dropped what it could not choose."""
        if self._passed_over:
            self._passed_over = False
            for unit in [unit for unit in self._ready.values() if unit.level is Level.SOURCE]:
                self._notify_ready(self._view, unit)

    # -- classes kept apart ------------------------------------------------------------------------------------

    def _with_room(self, apart: ClassGuard, now: float) -> CoreView | RoomView:
        """What the policy may choose from: everything, or only what the other classes leave a worker for."""
        room = apart.room(self._ready.values(), now)
        if room is not None:
            self._hiding = True
            return RoomView(self._view, room)
        if self._hiding:  # the policy may have dropped what it could not choose
            self._hiding = False
            for unit in self._ready.values():
                self._notify_ready(self._view, unit)
        return self._view

    def _cut(self, apart: ClassGuard, state: UnitState, train: Train) -> Train:
        """A train that fits the slice of its class."""
        model = self.stats.model(state.unit)
        now = self._view.now
        seconds = apart.seconds(state.unit, model, self.measured.run_overhead, now, now - state.oldest)
        if seconds is None or (train.fits is not None and train.fits <= seconds):
            return train
        return replace(train, fits=seconds)

    def _pin(self, states: Iterable[UnitState]) -> bool:
        """Keep what a run takes until it has ended, if runs may be cancelled; says whether they may."""
        pins = self._apart is not None and self.policy.isolation.preempt
        if pins:
            for state in states:
                state.pin()
        return pins

    # -- what is ready -----------------------------------------------------------------------------------------

    def _wake(self, queues: Iterable[TupleQueue]) -> None:
        """Mark units ready whose queues have got tuples."""
        ready, view, notify = self._ready, self._view, self._notify_ready
        for queue in queues:
            for state in queue.states:
                if not state.blocked:
                    unit = ready[state.id] = state.unit
                    if self._apart is not None:
                        self._apart.came(unit, view.now)
                    notify(view, unit)

    def _append(self, number: int, chunks: Chunks) -> None:
        queue = self._queues.get(number)
        if queue is None:  # its query has been removed meanwhile
            return
        woken = False
        for state in queue.states:
            if queue is not state.queue:
                state.queue = None
        for arrival, count in chunks:
            woken |= bool(queue.log.append(arrival, count))
        if woken:
            self._wake([queue])
        if self._grown is not None:
            self._grown(self._view, (number,))

    # -- change ------------------------------------------------------------------------------------------------

    def _use(self, policy: str | Policy, now: float, fuse: Fuse | None = None) -> None:
        """Let a policy decide from now on; one that refuses the network changes nothing."""
        chosen = create(policy) if isinstance(policy, str) else policy
        guarded = chosen if self._guard is None else self._guard(chosen)
        guarded.check(self.network)
        former, self.policy = getattr(self, "policy", None), guarded
        self.fuse = self.fuse if fuse is None else fuse
        self.policy.seed(self.seed)
        if former is not None:
            self.policy.succeed(former)
        self._choose = self.policy.choose
        self._notify_ready = self.policy.ready
        self._wants_finished = type(self.policy).finished is not Policy.finished
        self._grown = self.policy.grown if self.policy.wants_growth else None
        self._keep_apart()
        self._regroup(now)

    def _keep_apart(self) -> None:
        """Do as the policy says about keeping classes apart; runs under way stay known."""
        former, self._apart, self._hiding = self._apart, None, False
        if self.policy.isolation.active or (former is not None and former.busy):  # runs may still be given back
            self._apart = ClassGuard(self.policy.isolation, self.workers, former)
            self._apart.follow(self.network)
            self._apart.adopt(self.running.values())

    def _rewire(self, network: Network, now: float, backlog: tuple[Produced, ...] = ()) -> None:
        """Adopt a changed network; queues that stay keep the tuples that wait in them."""
        self.policy.check(network)
        self._follow(network, dict(backlog))
        self._regroup(now)

    def _follow(self, network: Network, backlog: Mapping[int, Chunks] = NO_BACKLOG) -> None:
        self.network = network
        self.measured.follow(network)
        self.stats.renew(network)
        self._network_queues.follow(network, self.measured, backlog)
        if self._apart is not None:
            self._apart.follow(network)

    def _form_units(self, stats: Stats) -> Sequence[Unit]:
        return self._unit_formation.form(self.policy, self.network, self.fuse, stats, self.stats)

    def _regroup(self, now: float) -> None:
        stats = self.stats.only(self.policy.needs)
        self._put(self._form_units(stats), stats, now)

    def _put(self, formed: Sequence[Unit], stats: Stats, now: float) -> None:
        """Replace the units; runs under way keep blocking new units that share an operator with them."""
        for queue in self._queues.values():
            queue.states.clear()
        self._states = {unit.id: UnitState(unit, self._queues, self.stats) for unit in formed}
        shared_operators(self._states.values())
        self._listed.clear()
        self._hold_again()
        self._ready = {
            number: state.unit for number, state in self._states.items() if not state.blocked and state.oldest != _NONE
        }
        self._view = CoreView(self._states, self._queues, self._ready, self.running, stats, now)
        self._reads_last = self._come_last() and any(unit.level is Level.SOURCE for unit in formed)
        self._notify_of_everything()

    def _hold_again(self) -> None:
        for worker, run in self.running.items():
            busy = set(run.calls)
            holding = tuple(state for state in self._states.values() if not busy.isdisjoint(state.unit.calls))
            for state in holding:
                state.blocked += 1
            self._holding[worker] = holding
            self._stale.add(worker)

    def _notify_of_everything(self) -> None:
        """Let the policy compute everything again, because statistics or units are new."""
        self.policy.changed(self._view)
        for unit in list(self._ready.values()):
            self._notify_ready(self._view, unit)

    def _observe(self, outcome: Outcome, now: float) -> None:
        others, predicted = self._predicted.pop(outcome.run.worker, (0, None))
        self.measured.observe(outcome, (others + len(self.running)) / 2, predicted)
        self._since_refresh += outcome.run.tuples
        self._refresh_if_due(now)

    def _refresh_if_due(self, now: float) -> None:
        """Update the statistics if enough tuples have been measured and the last update is long enough ago."""
        if self._since_refresh >= REFRESH and now >= self._refreshed + self.rest * len(self.measured.operators):
            self._refresh(now)

    def _refresh(self, now: float) -> None:
        self._since_refresh, self._refreshed = 0, now
        self.stats.renew(self.network)
        current = [state.unit for state in self._states.values()]
        if self._unit_formation.is_due(current, self.fuse, self.stats, now):
            # Only if they differ: replacing units ends turns, lists and credits that are under way.
            formed = self._form_units(self._view.stats)
            if not same_units(formed, current):
                self._put(formed, self._view.stats, now)
                return
        self._notify_of_everything()
