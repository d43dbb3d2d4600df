"""The talk with the core scheduler: offsets of logs and positions of queues agree, windows hold tuples back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.machine.standin import STREAMS, NoFacts, OneFragment, query

from headgate.core import Declared
from headgate.model import HeadgateError, Level, Outcome, QueryClass, Run
from headgate.plan.fusion import Fuse
from headgate.spark.compile.read_sets import sources
from headgate.spark.engine.initial_state import new_scheduler
from headgate.spark.machine.active_run import ActiveRun
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.interfaces import Chunks
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import CheckWindows

COPY = "SELECT id FROM a"


class Facts(NoFacts):
    """Windows close when the test says so."""

    closable = False
    broken = False

    def can_close(self, resume_point: Any, fragment: Any, ends: Any) -> bool:
        if self.broken:
            raise HeadgateError("tuples are missing")
        return self.closable


def new_scheduling(facts: NoFacts | None = None) -> Scheduling:
    context = MachineContext(str)
    context.now = 1.0
    scheduling = Scheduling(context, new_scheduler("fcfs", Fuse.OFF, 1, 2, None), facts or NoFacts())
    for stream in STREAMS.values():
        scheduling.ends[stream.name] = 0
        scheduling.tell(Declared(stream=stream))
    scheduling.tell(Declared(query_class=QueryClass("low", 1.0)))
    return scheduling


def add_life(scheduling: Scheduling, position: int = 0, *, held: bool = False, level: Level | None = None) -> Life:
    """A running query at a position of its stream; not in the scheduler yet."""
    copy = query("q", COPY)
    leaves = dict(sources(copy.plan))
    layout = OneFragment(leaves, level, held=tuple(leaves) if held else ())
    life = Life(copy, QueryState.RUNNING, unfragmented=layout, layout=layout)
    life.positions = dict.fromkeys(leaves, position)
    scheduling.context.lives["q"] = life
    return life


def position(life: Life) -> int:
    (offset,) = life.positions.values()
    return offset


def append(scheduling: Scheduling, count: int) -> None:
    scheduling.appended("a", scheduling.ends["a"] + count, ((1.0, count),))


def enter(scheduling: Scheduling, life: Life, end: int | None = None) -> None:
    """Enter a query with its backlog up to an end; what has come since is in `arrived_meanwhile`."""
    backlog = (scheduling.ends["a"] if end is None else end) - position(life)
    chunks: Chunks = ((1.0, backlog),) if backlog else ()
    scheduling.enter(life, dict.fromkeys(life.positions, chunks))


def run(scheduling: Scheduling, life: Life) -> bool:
    """Let the scheduler decide a run and commit it; False if there is none."""
    decided = scheduling.scheduler.next(0, scheduling.context.now)
    if not isinstance(decided, Run):
        return False
    for portion in ActiveRun.of(decided, scheduling.context.lives).portions():
        for place, (first, last) in portion.offsets.items():
            assert first == life.positions[place] < last <= scheduling.ends["a"]
            life.positions[place] = last
    scheduling.scheduler.finished(Outcome(decided, 0.1, None), scheduling.context.now)
    return True


steps = st.lists(
    st.one_of(st.integers(1, 5), st.sampled_from(["run", "enter", "enter late", "leave"])), min_size=1, max_size=20
)


@given(steps=steps)
def test_runs_take_every_offset_of_the_log_once_and_in_order(steps: list[int | str]) -> None:
    scheduling = new_scheduling()
    life = add_life(scheduling)
    for step in steps:
        if isinstance(step, int):
            append(scheduling, step)
        elif step == "run":
            run(scheduling, life)
        elif step == "leave":
            scheduling.leave(life)
        elif not life.entered:
            end = scheduling.ends["a"]
            if step == "enter late":  # tuples arrive while it is prepared
                scheduling.keep_arrivals(life)
                append(scheduling, 2)
            enter(scheduling, life, end)
    if not life.entered:
        assert scheduling.backlog_size(life) == 0  # it does not run
        enter(scheduling, life)
    assert scheduling.backlog_size(life) == scheduling.lag(life, "a") == scheduling.ends["a"] - position(life)
    while run(scheduling, life):
        pass
    assert position(life) == scheduling.ends["a"]
    assert scheduling.backlog_size(life) == 0


def test_news_of_tuples_that_are_counted_already_are_ignored() -> None:
    scheduling = new_scheduling()
    life = add_life(scheduling)
    enter(scheduling, life)
    append(scheduling, 3)
    scheduling.appended("a", 2, ((1.0, 2),))
    scheduling.appended("not declared", 5, ((1.0, 5),))
    assert scheduling.waiting(life)[0] == 3
    assert "not declared" not in scheduling.ends


def test_waiting_tells_how_long_the_oldest_tuple_has_waited() -> None:
    scheduling = new_scheduling()
    life = add_life(scheduling)
    assert scheduling.waiting(life) == (0, 0.0)
    enter(scheduling, life)
    append(scheduling, 3)
    scheduling.context.now = 5.0
    assert scheduling.waiting(life) == (3, 4.0)


def test_tuples_of_open_windows_are_held_until_a_window_can_close() -> None:
    facts = Facts()
    scheduling = new_scheduling(facts)
    life = add_life(scheduling, held=True)
    enter(scheduling, life)
    append(scheduling, 3)
    assert not run(scheduling, life)
    assert (scheduling.backlog_size(life), scheduling.lag(life, "a")) == (0, 3)
    facts.closable = True
    scheduling.release_closed_windows(life)
    assert scheduling.backlog_size(life) == 3
    assert run(scheduling, life)
    assert position(life) == 3


def test_a_log_without_the_tuples_of_a_window_does_not_hold_its_query_for_ever() -> None:
    facts = Facts()
    scheduling = new_scheduling(facts)
    life = add_life(scheduling, held=True)
    enter(scheduling, life)
    append(scheduling, 1)
    facts.broken = True
    scheduling.release_closed_windows(life)
    assert run(scheduling, life)  # which will fail, and say why


def test_the_windows_of_a_fragmented_query_are_checked_by_one_task_at_a_time() -> None:
    scheduling = new_scheduling(Facts())
    life = add_life(scheduling, held=True, level=Level.OPERATOR)
    enter(scheduling, life)
    scheduling.release_closed_windows(life)
    append(scheduling, 2)
    (task,) = scheduling.context.take_output()
    assert isinstance(task, CheckWindows)
    assert life.check_windows_again
    scheduling.context.answered(Answer(task, []))
    (again,) = scheduling.context.take_output()
    assert isinstance(again, CheckWindows)
    assert again.ends["a"] == 2
    assert not run(scheduling, life)
    scheduling.context.answered(Answer(again, list(life.positions)))
    assert run(scheduling, life)


@pytest.mark.parametrize("outdated", ["entered again", "left"])
def test_an_outdated_check_of_windows_releases_nothing(outdated: str) -> None:
    scheduling = new_scheduling(Facts())
    life = add_life(scheduling, held=True, level=Level.OPERATOR)
    append(scheduling, 2)
    enter(scheduling, life)
    (task,) = scheduling.context.take_output()
    assert isinstance(task, CheckWindows)
    scheduling.leave(life)
    if outdated == "entered again":
        life.entry_number += 1
        enter(scheduling, life)
    scheduling.context.answered(Answer(task, list(life.positions)))
    assert not run(scheduling, life)


def test_a_one_time_query_takes_the_tuples_up_to_its_end_without_waiting_for_windows() -> None:
    scheduling = new_scheduling(Facts())
    life = add_life(scheduling, held=True)
    append(scheduling, 3)
    life.until = dict.fromkeys(life.positions, 3)
    enter(scheduling, life)
    append(scheduling, 4)
    while run(scheduling, life):
        pass
    assert position(life) == 3
    assert life.has_read_all


def test_the_rate_of_a_stream_is_measured_once_a_second() -> None:
    scheduling = new_scheduling()
    append(scheduling, 10)
    assert scheduling.scheduler.measured.rates.get("a", 0.0) == 0.0
    scheduling.context.now = 3.0
    append(scheduling, 10)
    assert scheduling.scheduler.measured.rates["a"] == pytest.approx(10.0)
