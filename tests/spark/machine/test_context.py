"""The context that all parts of the machine share: one-shot timers, continuations of tasks, deferred commands."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.machine.standin import query

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.lifecycle import Life, QueryState, Transition
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.tasks import OpenStream, WriteCommit

SQL = "SELECT id FROM a"


@given(
    times=st.lists(st.one_of(st.integers(0, 5).map(float), st.just(inf)), max_size=8),
    clock=st.lists(st.integers(0, 6).map(float), max_size=6).map(sorted),
)
def test_timers_fire_once_in_the_order_of_their_times(times: list[float], clock: list[float]) -> None:
    context, fired = MachineContext(str), list[tuple[float, int]]()
    for number, time in enumerate(times):
        context.call_at(time, lambda timer=(time, number): fired.append(timer))  # type: ignore[misc]
    for now in clock:
        context.now = now
        context.fire_timers()
        left = sorted((time, number) for number, time in enumerate(times) if time > now)
        assert fired == sorted((time, number) for number, time in enumerate(times) if time <= now)
        assert context.due == (left[0][0] if left else inf)


def test_a_timer_may_set_one_that_is_due_at_once() -> None:
    context, fired = MachineContext(str), list[str]()
    context.now = 2.0

    def first() -> None:
        fired.append("first")
        context.call_at(1.0, lambda: fired.append("second"))

    context.call_at(2.0, first)
    context.fire_timers()
    assert fired == ["first", "second"]


def test_a_task_continues_with_its_answer_and_only_once() -> None:
    context, values = MachineContext(str), list[object]()
    task = OpenStream(stream=None)  # type: ignore[arg-type]
    context.submit(task, lambda answer: values.append(answer.value))
    assert context.take_output() == [task]
    assert context.take_output() == []
    context.answered(Answer(task, 7))
    assert values == [7]
    with pytest.raises(KeyError):
        context.answered(Answer(task, 8))


def test_a_commit_is_certain_once_no_earlier_write_is_under_way() -> None:
    context = MachineContext(str)
    context.newest_commit = 3
    early, late = WriteCommit(), WriteCommit()
    context.submit(early, lambda answer: None)
    context.newest_commit = 5
    context.submit(late, lambda answer: None)
    assert context.certain_commit == 3
    context.answered(Answer(early))
    assert context.certain_commit == 5
    context.newest_commit = 6
    context.answered(Answer(late))
    assert context.certain_commit == 6


def test_a_change_of_state_that_is_not_in_the_table_is_a_bug() -> None:
    context, life = MachineContext(str), Life(query("q", SQL))
    context.add(life)
    with pytest.raises(AssertionError, match="cannot go from checking to running"):
        context.change_state(life, QueryState.RUNNING, "")
    assert life.state is QueryState.CHECKING
    context.change_state(life, QueryState.SUSPENDED, "failed", "no memory")
    assert context.take_output() == [
        Transition(0.0, "q", "", "checking", "added"),
        Transition(0.0, "q", "checking", "suspended", "failed: no memory"),
    ]


def test_commands_wait_until_a_query_is_settled_and_keep_their_order() -> None:
    context, life, done = MachineContext(str), Life(query("q", SQL)), list[str]()
    context.add(life)
    context.when_settled(life, lambda: done.append("first"))
    context.when_settled(life, lambda: context.change_state(life, QueryState.CUTTING, "second"))
    context.when_settled(life, lambda: done.append("third"))
    assert done == []
    context.change_state(life, QueryState.PAUSED, "checked")
    assert (done, life.state) == (["first"], QueryState.CUTTING)  # the second one makes it transient again
    context.change_state(life, QueryState.RUNNING, "")
    assert done == ["first", "third"]


def test_deferred_commands_of_a_removed_query_are_not_lost() -> None:
    context, life, done = MachineContext(str), Life(query("q", SQL)), list[bool]()
    context.add(life)
    context.when_settled(life, lambda: done.append("q" in context.lives))
    context.remove(life, "stopped")
    assert done == [False]
