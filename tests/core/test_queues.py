"""Queues are positions in a log: they answer as lists of arrival times would, and the log does not grow for ever."""

from __future__ import annotations

import math
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.core.queues import Log, TupleQueue

Acts = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.just("take"), st.integers(0, 2), st.integers(1, 5)),
        st.tuples(st.just("hold"), st.integers(1, 2), st.integers(0, 6)),
    ),
    max_size=40,
)


def appended(log: Log, *chunks: tuple[float, int]) -> Log:
    for arrival, count in chunks:
        log.append(arrival, count)
    return log


@settings(max_examples=200, deadline=None, derandomize=True)
@given(Acts)
def test_queues_answer_as_lists_do(acts: list[tuple[str, int, int]]) -> None:
    log = Log(size=3)
    queues = [TupleQueue(number, log) for number in range(3)]
    arrivals: list[float] = []
    passed, upto = [0, 0, 0], [1 << 60] * 3
    now = 0.0
    for act, which, amount in acts:
        if act == "append":
            now += which
            log.append(now, amount)
            arrivals += [now] * amount
        elif act == "hold":
            upto[which] = min(passed[which] + amount, len(arrivals))
            queues[which].hold_beyond(upto[which])
        elif len(queues[which]):
            count = min(amount, len(queues[which]))
            took = queues[which].take_one() if amount == 1 else queues[which].take(count)
            assert took == (which, passed[which], passed[which] + count)
            passed[which] += count
        for number, queue in enumerate(queues):
            free = arrivals[passed[number] : upto[number]]
            assert len(queue) == len(free)
            assert queue.head == (free[0] if free else math.inf)
            assert queue.mean == (pytest.approx(fmean(free)) if free else math.inf)
            assert queue.nbytes == 3 * len(free)
            if free:
                assert queue.ahead == free.count(free[0])


def test_tuples_of_one_arrival_time_are_one_chunk() -> None:
    log = appended(Log(1), (0.0, 2), (0.0, 3), (1.0, 1))
    assert (log.chunks, log.end, log.arrivals, log.ends) == (2, 6, [0.0, 1.0], [5, 6])


def test_an_append_wakes_only_queues_at_the_end() -> None:
    log = Log(1)
    early, late = TupleQueue(0, log), TupleQueue(1, log)
    assert log.append(0.0, 2) == [early, late]
    late.take(2)
    assert log.append(1.0, 1) == [late]
    assert (early.head, late.head) == (0.0, 1.0)


def test_the_mean_arrival_is_right_in_a_log_that_is_trimmed() -> None:
    log = Log(1)
    queue = TupleQueue(0, log)
    arrivals: list[float] = []
    for step in range(10_000):
        log.append(1e6 + step / 8, 1 + step % 3)
        arrivals += [1e6 + step / 8] * (1 + step % 3)
        if step % 100 == 99:
            _, first, behind = queue.take(len(queue) // 2)
            del arrivals[: behind - first]
            assert queue.mean == pytest.approx(fmean(arrivals), abs=1e-6)
    assert log.base > 0


def test_a_queue_begins_at_the_end_of_the_log() -> None:
    log = appended(Log(1), (0.0, 5))
    queue = TupleQueue(0, log)
    assert (len(queue), queue.head, queue.position) == (0, math.inf, 5)


def test_a_held_queue_that_began_behind_a_chunk_finds_its_tuples_when_the_chunk_grows() -> None:
    log = appended(Log(1), (0.0, 5))
    queue = TupleQueue(0, log)
    queue.hold_beyond(5)
    appended(log, (0.0, 2))
    assert queue.hold_beyond(7)
    assert (len(queue), queue.head, queue.ahead) == (2, 0.0, 2)


def test_take_one_is_take_of_one() -> None:
    log = Log(1)
    one, other = TupleQueue(0, log), TupleQueue(1, log)
    appended(log, (0.0, 2), (0.5, 1), (1.0, 2))
    for _ in range(5):
        assert one.take_one()[1:] == other.take(1)[1:]
        assert (one.head, one.chunk, len(one)) == (other.head, other.chunk, len(other))


@pytest.mark.parametrize("readers", [1, 3])
def test_a_log_that_is_read_stays_small(readers: int) -> None:
    log = Log(1)
    queues = [TupleQueue(number, log) for number in range(readers)]
    for number in range(50_000):
        log.append(float(number), 1)
        for queue in queues:
            assert queue.head == float(number)
            queue.take_one()
    assert log.chunks == 50_000
    assert len(log.ends) == len(log.arrivals) <= 4096 + 1


def test_a_log_that_nobody_reads_stays_small() -> None:
    log = Log(1)
    for number in range(20_000):
        log.append(float(number), 1)
    assert len(log.ends) <= 4096 + 1


def test_a_log_keeps_what_its_slowest_reader_awaits() -> None:
    log = Log(1)
    quick, slow = TupleQueue(0, log), TupleQueue(1, log)
    for number in range(20_000):
        log.append(float(number), 1)
        quick.take_one()
        if number % 2:
            slow.take_one()
    assert slow.head == 10_000.0
    assert [slow.take(1)[1] for _ in range(3)] == [10_000, 10_001, 10_002]
    assert slow.head == 10_003.0


def test_held_tuples_stay_in_the_log() -> None:
    log = Log(1)
    queue = TupleQueue(0, log)
    queue.hold_beyond(0)
    for number in range(10_000):
        log.append(float(number), 1)
    assert (len(queue), queue.head) == (0, math.inf)
    assert queue.hold_beyond(5)
    assert (len(queue), queue.head) == (5, 0.0)
    queue.take(5)
    assert queue.hold_beyond(6)
    assert queue.head == 5.0


def test_a_queue_that_is_closed_does_not_keep_the_log() -> None:
    log = Log(1)
    queue, gone = TupleQueue(0, log), TupleQueue(1, log)
    log.append(0.0, 1)
    gone.close()
    for number in range(1, 20_000):
        log.append(float(number), 1)
        queue.take_one()
    assert len(log.ends) <= 2 * 4096
