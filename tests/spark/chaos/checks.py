"""The promises: what must hold after each step, whenever everything is at rest, after a start, and at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tests.spark.chaos.declared import as_committed
from tests.spark.chaos.ledger import BrokenError, Epoch, rows_of
from tests.spark.chaos.queries import Span
from tests.spark.chaos.streams import Tuple

from headgate.spark.machine.lifecycle import TRANSIENT, Life, QueryState
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.registry import is_file
from headgate.spark.store.log.stream_log import StreamLog

if TYPE_CHECKING:
    from tests.spark.chaos.world import World

RUNS = (QueryState.RUNNING, QueryState.DONE)


def each_step(world: World) -> None:
    """Cheap ones: nobody has read further than there is, and the scheduler believes what the logs say."""
    machine = world.system.machine
    for life in machine.context.lives.values():
        if life.state is QueryState.INCOMPLETE and (life.busy or life.entered or life.layout or life.outbox):
            raise BrokenError(f"'{life.name}' is incomplete, but something of it runs")
        if life.unappended:
            world.system.owing.add(life.name)
        elif life.state is QueryState.RUNNING:
            world.system.owing.discard(life.name)
        if life.layout is None or not life.positions:
            continue
        for place, source in life.layout.leaves.items():
            log = world.system.ingest.logs.get(source.stream)
            if log is not None and place in life.positions and life.positions[place] > log.end:
                raise BrokenError(f"'{life.name}' stands at {life.positions[place]} of {source.stream}, {log.end}")
        asked_again = not machine.runs.cancelled  # else the tuples of cancelled runs are in no queue, only in the logs
        if asked_again and life.entered and not life.busy and life.state is QueryState.RUNNING:
            _balance(world, life)


def _balance(world: World, life: Life) -> None:
    """What waits by the scheduler and what is held by windows is what the logs have behind the query's position."""
    scheduling = world.system.machine.scheduling
    assert life.layout is not None
    for place, source in life.layout.leaves.items():
        queue = scheduling.scheduler.queue(life.queues[place])
        end = life.end(source.stream, scheduling.ends)
        held = queue.log.end - queue.limit
        if len(queue) + held != end - life.positions[place]:
            raise BrokenError(
                f"'{life.name}' stands at {life.positions[place]} of {end} in {source.stream}; "
                f"{len(queue)} wait and {held} are held"
            )


def at_rest(world: World) -> None:
    """Nothing is under way, but for callbacks that take long: everyone has been answered, no query is in between."""
    if world.closing is None and world.users.unanswered:
        raise BrokenError(f"nobody answers {world.users.unanswered}")
    machine = world.system.machine
    passing = [life for life in machine.context.lives.values() if life.state in TRANSIENT or life.busy]
    if passing:
        raise BrokenError(f"still under way: {[(life.name, life.state, life.busy) for life in passing]}")
    if machine.runs.active_runs:
        raise BrokenError("a run is under way, but nobody works for it")
    for name in world.ledger.queries:
        results(world, name)
    world.acknowledged.check(world.ledger)
    as_committed(world)


def results(world: World, name: str, *, drained: bool = False) -> None:
    """What a query has given is what its SQL gives over all that it has read."""
    generation, life = world.ledger.living(name), world.system.machine.context.lives.get(name)
    known = world.system.machine.context.remembered.get(name)  # it could not be started again
    if name in world.ledger.vague or (life is not None and life.unappended) or (known is not None and known.unappended):
        return
    cut: Mapping[str, int] | None = None
    if generation is not None and generation.begun:
        layout = world.system.layouts.get(name)
        if "cut" in generation.said and (layout is None or layout.whole):
            return  # nobody has opened its pieces since the start
        newest = generation.newest
        cut = world.system.ends_of(name, newest.until) if drained else world.system.cut_of(name)
    expected = world.ledger.expected(name, world.known, cut)
    _compare(name, "commits", expected, world.ledger.given.get(name, Counter()))
    sink = str(world.ledger.queries[name][-1].said["sink"])
    if is_file(sink):
        if not world.system.commits._file._failed:  # else it may hold a commit that counts after the next start only
            _compare(name, "files", expected, rows_of(read_committed(world.path, name)))
    elif sink == "callback" and drained:
        missing = world.ledger.expected(name, world.known, cut, living=True) - world.users.receivers[name].rows
        if missing:
            raise BrokenError(f"the callback of '{name}' was never given {dict(missing)}")
    if sink == "callback":
        strange = set(world.users.receivers[name].rows) - set(expected)
        if strange:
            raise BrokenError(f"the callback of '{name}' was given {strange}")


def _compare(name: str, where: str, expected: Counter[tuple[object, ...]], found: Counter[tuple[object, ...]]) -> None:
    if expected != found:
        lost, more = dict(expected - found), dict(found - expected)
        raise BrokenError(f"'{name}': lost in {where} {lost}, too many {more}")


def _there(log: StreamLog, first: int, kept: Sequence[Tuple | None]) -> bool:
    """Whether a log holds these tuples from an offset on; a stream's end is no tuple."""
    rows = log.read(first, log.end).select(["k", "v", "ts"])
    found = list(zip(*(rows[name].cast("int64").to_pylist() for name in rows.column_names), strict=True))
    return found == [(each.k, each.v, each.ts) for each in kept if each is not None]


def after_start(world: World) -> None:
    """Streams hold what was acknowledged, and what was under way as a whole or not at all."""
    for name, known in world.known.items():
        log = world.system.ingest.logs[name]
        for given in known.unsure:
            added = known.kept(given)
            if log.end == known.end + len(added) and _there(log, known.end, added):
                known.add(given)
                break
        known.unsure = []
        if log.end != known.end:
            raise BrokenError(f"stream '{name}' has {log.end} tuples, {known.end} were acknowledged")
        table = log.read(log.start, log.end)
        found = list(
            zip(*(table[column].cast("int64").to_pylist() for column in ("k", "v", "ts", "_late")), strict=True)
        )
        kept = [each for each in known.tuples[log.start :] if each is not None]
        if found != [(row.k, row.v, row.ts, int(row.late)) for row in kept]:
            raise BrokenError(f"stream '{name}' holds {found}, acknowledged were {kept}")
    for name in world.ledger.queries:
        results(world, name)


def drained(world: World) -> None:
    """The end: every query runs or is done, and has read all."""
    machine = world.system.machine
    for life in machine.context.lives.values():
        if life.state not in RUNS:
            raise BrokenError(f"'{life.name}' is {life.state}: {life.error}")
    for name in world.ledger.queries:
        if world.ledger.living(name) is not None and name not in machine.context.lives:
            raise BrokenError(f"'{name}' was never stopped, but it is gone")
        results(world, name, drained=True)
    letters(world)
    if not machine.views.drained:
        raise BrokenError("nothing is left to do, but it is not drained")


def _span(world: World, name: str, epoch: Epoch) -> Span:
    """What a query has read when all is drained."""
    return epoch.span(epoch.end or world.system.ends_of(name, epoch.until))


def letters(world: World) -> None:
    """What expressions failed on is in the dead letters, once for each query."""
    found: Counter[tuple[str, str, int]] = Counter()
    for stream, letters in world.system.ingest.letters.items():
        for letter in letters.letters():
            if letter.query:
                found[letter.query, stream, int(letter.offset or 0)] += 1
    wanted: Counter[tuple[str, str, int]] = Counter()
    unstarted = world.system.machine.context.remembered  # they have not read all yet
    for name, generations in world.ledger.queries.items():
        for generation in generations if name not in world.ledger.vague and name not in unstarted else ():
            failing = {
                (name, epoch.text.streams[0], at)
                for epoch in generation.epochs
                for at in epoch.text.failing(
                    world.known, epoch.span(epoch.end or world.system.ends_of(name, epoch.until))
                )
            }
            wanted.update(failing)
    if wanted - found:
        raise BrokenError(f"dead letters are missing: {dict(wanted - found)}")
    if max(found.values(), default=0) > max((len(each) for each in world.ledger.queries.values()), default=1):
        raise BrokenError(f"dead letters are there twice: {found.most_common(3)}")
