"""An active run: the fragments that it runs in order, each also on the rows that earlier ones have just produced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from headgate.model import Answered, HeadgateError, OperatorId, OperatorOutcome, Outcome, Produced, QueueId, Run, Work
from headgate.plan.places import Place
from headgate.spark.machine.interfaces import FragmentView, Offsets
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.tasks import Portion, PortionResult
from headgate.stats.cost_split import split

Step = tuple[tuple[Life, FragmentView], ...]  # at most one fragment of each query


@dataclass(slots=True, eq=False)
class ActiveRun:
    """The fragments of a run's units, in steps: each fragment comes after those that feed it.

    The policy chooses the units: an operator, a segment, a path, or all operators of a query. A unit of a fragmented
    query may span several fragments.
    """

    run: Run
    members: tuple[Life, ...]
    takes: Mapping[QueueId, Offsets]
    steps: list[Step]  # not started yet
    fed_logs: frozenset[tuple[str, str]]  # (query, fragment log) that fragments of this run append to
    fragment_log_ends: Mapping[str, int]  # when the run began
    bypassed: set[tuple[str, QueueId]] = field(default_factory=set)  # queues whose new rows this run takes itself
    committed: list[PortionResult] = field(default_factory=list)
    response_times: dict[str, tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    evaluating: bool = False  # a worker has its next step, or will have it

    @classmethod
    def of(cls, run: Run, lives: Mapping[str, Life]) -> ActiveRun:
        names = dict.fromkeys(name for unit in run.units for name in unit.queries if name in lives)
        members = tuple(lives[name] for name in names)
        calls = frozenset(call for unit in run.units for call in unit.calls)
        paths = [[(life, fragment) for fragment in _fragments(life, calls)] for life in members]
        takes: dict[QueueId, Offsets] = {}
        for queue, first, last in run.takes:  # units of a run may take consecutive ranges of one queue
            takes[queue] = takes.get(queue, (first, last))[0], last
        steps = [part for step in zip_longest(*paths) for part in _apart([pair for pair in step if pair is not None])]
        fed_logs = frozenset(
            (life.name, fragment.feeds_name)
            for path in paths
            for life, fragment in path
            if fragment.feeds_name is not None
        )
        fragment_log_ends = {name: end for life in members for name, end in life.fragment_log_ends.items()}
        return cls(run, members, takes, steps, fed_logs, fragment_log_ends)

    @property
    def for_nobody(self) -> bool:
        """Whether all its queries are to be stopped."""
        return all(life.stopping for life in self.members)

    def portions(self) -> list[Portion]:
        """The portions of the next step that has tuples to take; none if the run is over."""
        while self.steps:
            portions = []
            for life, fragment in self.steps.pop(0):
                if life.state is QueryState.SUSPENDED:
                    continue  # it failed in an earlier step
                offsets = {place: self._offsets(life, fragment, place) for place in fragment.leaves}
                _check_positions(life, offsets)
                if any(first < last for first, last in offsets.values()):
                    portions.append(Portion(life.resume_point(), fragment, offsets))
            if portions:
                return portions
        return []

    def _offsets(self, life: Life, fragment: FragmentView, place: Place) -> Offsets:
        """The offsets that the run takes at a leaf.

        They include the rows that another fragment appended in this run, unless earlier rows stay or a window holds
        them.
        """
        queue, stream = life.queues[place], fragment.leaves[place].stream
        base, position = life.bases[queue], life.positions[place]
        first, last = self.takes.get(queue, (position - base, position - base))
        first, last = base + first, base + last
        log_end = life.fragment_log_ends.get(stream)
        held = place in fragment.held and not life.until
        if log_end is None or held or last < self.fragment_log_ends[stream] or (life.name, stream) not in self.fed_logs:
            return first, last
        life.bases[queue] += log_end - last  # the scheduler is never told about these rows
        self.bypassed.add((life.name, queue))
        return first, log_end

    def groups(self, portions: Sequence[Portion]) -> tuple[tuple[Portion, ...], ...]:
        """Portions grouped by unit: a group can be one Spark job if its queries have the same form."""
        left = list(portions)
        groups = []
        for unit in self.run.units:
            names = frozenset(unit.queries)
            groups.append(tuple(portion for portion in left if portion.name in names))
            left = [portion for portion in left if portion.name not in names]
        return tuple(group for group in groups if group)

    def outcome(self, overhead: float, wants_answers: bool) -> Outcome:
        """The run's costs and results, for the scheduler."""
        work = [(result.tuples, result.count) for result in self.committed]
        seconds = split(self.seconds, overhead, work) if work else []
        lives = {life.name: life for life in self.members}
        operators = tuple(
            outcome
            for result, share in zip(self.committed, seconds, strict=True)
            for outcome in _operator(lives[result.portion.name], result, share)
        )
        times = [Answered(name, times) for name, times in self.response_times.items() if times] if wants_answers else []
        done = Work(
            sum(result.jobs_share for result in self.committed),
            sum(result.rows_read for result in self.committed),
            sum(result.count for result in self.committed),
        )
        return Outcome(self.run, self.seconds, None, operators, tuple(self._produced(lives)), tuple(times), done)

    def _produced(self, lives: Mapping[str, Life]) -> Iterator[Produced]:
        """Intermediate rows that now wait for other units."""
        for result in self.committed:
            life, name = lives[result.portion.name], result.portion.fragment.feeds_name
            if name is None or not result.chunks or life.layout is None or not life.entered:
                continue
            for place, source in life.layout.leaves.items():
                if source.stream == name and (life.name, life.queues[place]) not in self.bypassed:
                    yield Produced(life.queues[place], result.chunks)


def _apart(pairs: Sequence[tuple[Life, FragmentView]]) -> list[Step]:
    """A step, and one for each query that must run alone."""
    together = tuple(pair for pair in pairs if not pair[0].suspicion.runs_alone)
    return [*([together] if together else []), *((pair,) for pair in pairs if pair[0].suspicion.runs_alone)]


def _operator(life: Life, result: PortionResult, seconds: float) -> Iterable[OperatorOutcome]:
    """The cost of a fragment, booked on its first operator: the time of one Spark job cannot be split by operator."""
    numbers = [number for number, fragment in life.operators.items() if fragment is result.portion.fragment]
    if numbers and result.tuples:
        yield OperatorOutcome(min(numbers), result.tuples, result.count, seconds)


def _fragments(life: Life, calls: frozenset[OperatorId]) -> list[FragmentView]:
    """The fragments of a query that contain some operators, each after those that feed it."""
    wanted = {id(fragment) for call, fragment in life.operators.items() if call in calls}
    return [fragment for fragment in life.fragments if id(fragment) in wanted]


def _check_positions(life: Life, offsets: Mapping[Place, Offsets]) -> None:
    """Refuse a run that would leave out tuples or take some twice."""
    for place, (first, _) in offsets.items():
        if first != life.positions[place]:
            assert life.layout is not None
            raise HeadgateError(
                f"a run of query '{life.name}' was to take tuples from offset {first} on, but the query stands at "
                f"{life.positions[place]}",
                where=f"stream {life.layout.leaves[place].stream}",
                hint="resume it: it goes on where it stands",
            )
