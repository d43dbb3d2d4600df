"""A run on its way over the pieces of its queries: what one leaves for the next, that takes up in the same run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from headgate.model import Answered, HeadgateError, OperatorOutcome, Outcome, Produced, QueueId, Run
from headgate.plan.sharing import Place
from headgate.spark.machine.cost_split import split
from headgate.spark.machine.fragments import FragmentView, Offsets
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.tasks import Portion, PortionResult

Step = tuple[tuple[Life, FragmentView], ...]  # one piece of each query


@dataclass(slots=True, eq=False)
class ActiveRun:
    """The pieces that a run's units name, in steps: each piece after those that feed it.

    Units are of the policy's making: an operator, a segment, a path, all operators of a query. Where the query is in
    pieces, a unit may have several of them.
    """

    run: Run
    members: tuple[Life, ...]
    takes: Mapping[QueueId, Offsets]
    steps: list[Step]  # still to go
    fed_logs: frozenset[tuple[str, str]]  # (query, name of what waits inside) that pieces on this way give
    fragment_log_ends: Mapping[str, int]  # how much waited inside the queries when the run began
    bypassed: set[tuple[str, QueueId]] = field(default_factory=set)  # queues whose rows are taken as they come
    committed: list[PortionResult] = field(default_factory=list)  # committed
    response_times: dict[str, tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, run: Run, lives: Mapping[str, Life]) -> ActiveRun:
        names = dict.fromkeys(name for unit in run.units for name in unit.queries if name in lives)
        members = tuple(lives[name] for name in names)
        ways = [[(life, fragment) for fragment in _fragments(life, run)] for life in members]
        takes: dict[QueueId, Offsets] = {}
        for queue, first, last in run.takes:  # units that run together may take from one queue, one after another
            takes[queue] = takes.get(queue, (first, last))[0], last
        steps = [tuple(one for one in step if one is not None) for step in zip_longest(*ways)]
        fed_logs = frozenset(
            (life.name, fragment.feeds_name)
            for way in ways
            for life, fragment in way
            if fragment.feeds_name is not None
        )
        fragment_log_ends = {name: end for life in members for name, end in life.fragment_log_ends.items()}
        return cls(run, members, takes, steps, fed_logs, fragment_log_ends)

    def portions(self) -> list[Portion]:
        """What each query does in the next step in which there is something to take; none: the run is over."""
        while self.steps:
            found = []
            for life, fragment in self.steps.pop(0):
                if life.state is QueryState.SUSPENDED:
                    continue  # in a step before
                taken = {place: self._offsets(life, fragment, place) for place in fragment.leaves}
                _check_places(life, taken)
                if any(first < last for first, last in taken.values()):
                    found.append(Portion(life.resume_point(), fragment, taken))
            if found:
                return found
        return []

    def _offsets(self, life: Life, fragment: FragmentView, place: Place) -> Offsets:
        """What a run takes before a leaf.

        With the rows that another piece has left in this run, if none before them is left or held by a window.
        """
        queue, stream = life.queues[place], fragment.leaves[place].stream
        base, here = life.bases[queue], life.positions[place]
        first, last = self.takes.get(queue, (here - base, here - base))
        first, last = base + first, base + last
        log_end = life.fragment_log_ends.get(stream)
        held = place in fragment.held and not life.until
        if log_end is None or held or last < self.fragment_log_ends[stream] or (life.name, stream) not in self.fed_logs:
            return first, last
        life.bases[queue] += log_end - last  # the scheduler never hears of them
        self.bypassed.add((life.name, queue))
        return first, log_end

    def groups(self, portions: Sequence[Portion]) -> tuple[tuple[Portion, ...], ...]:
        """Portions by units: those of one are one job, where their queries are of one form."""
        left = list(portions)
        groups = []
        for unit in self.run.units:
            groups.append(tuple(portion for portion in left if portion.name in unit.queries))
            left = [portion for portion in left if portion.name not in unit.queries]
        return tuple(group for group in groups if group)

    def outcome(self, overhead: float, wants_answers: bool) -> Outcome:
        """What the scheduler is told of the run."""
        parts = (
            split(self.seconds, overhead, [(one.tuples, one.count) for one in self.committed]) if self.committed else []
        )
        lives = {life.name: life for life in self.members}
        operators = tuple(
            told
            for one, part in zip(self.committed, parts, strict=True)
            for told in _operator(lives[one.portion.name], one, part)
        )
        times = [Answered(name, found) for name, found in self.response_times.items() if found] if wants_answers else []
        return Outcome(self.run, self.seconds, None, operators, tuple(self._produced(lives)), tuple(times))

    def _produced(self, lives: Mapping[str, Life]) -> Iterator[Produced]:
        """What waits for other units now."""
        for result in self.committed:
            life, name = lives[result.portion.name], result.portion.fragment.feeds_name
            if name is None or not result.chunks or life.layout is None or not life.entered:
                continue
            for place, source in life.layout.leaves.items():
                if source.stream == name and (life.name, life.queues[place]) not in self.bypassed:
                    yield Produced(life.queues[place], result.chunks)


def _operator(life: Life, result: PortionResult, seconds: float) -> Iterable[OperatorOutcome]:
    """A job's time cannot be split, so the first operator of a piece stands for all of it."""
    numbers = [number for number, fragment in life.operators.items() if fragment is result.portion.fragment]
    if numbers and result.tuples:
        yield OperatorOutcome(min(numbers), result.tuples, result.count, seconds)


def _fragments(life: Life, run: Run) -> list[FragmentView]:
    """The pieces of a query that a run's units have operators of, each after those that feed it."""
    named = [life.operators.get(call) for unit in run.units for call in unit.calls]
    return [fragment for fragment in life.fragments if any(fragment is one for one in named)]


def _check_places(life: Life, taken: Mapping[Place, Offsets]) -> None:
    """Refuse a run that would leave tuples out, or take some twice."""
    for place, (first, _) in taken.items():
        if first != life.positions[place]:
            assert life.layout is not None
            raise HeadgateError(
                f"a run of query '{life.name}' was to take tuples from offset {first} on, but the query stands at "
                f"{life.positions[place]}",
                where=f"stream {life.layout.leaves[place].stream}",
                hint="resume it: it goes on where it stands",
            )
