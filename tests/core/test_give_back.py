"""Tuples that a cancelled run gives back, and windows at whose ends runs are cut: as lists would do it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.core import queues
from headgate.core.queues import Log, TupleQueue

Acts = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.sampled_from(["take", "run"]), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.sampled_from(["end", "cancel"]), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("hold"), st.integers(1, 2), st.integers(0, 6)),
    ),
    max_size=50,
)


@pytest.fixture(params=[1, 4096])
def trimmed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Logs are trimmed at every append, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "_TRIM", request.param)
        yield


class Model:
    """A log as one list, with queues as numbers; some of them have a run under way."""

    def __init__(self) -> None:
        self.log = Log(size=1)
        self.queues = [TupleQueue(number, self.log) for number in range(3)]
        self.arrivals: list[float] = []
        self.passed, self.upto = [0, 0, 0], [1 << 60] * 3
        self.runs: dict[int, int] = {}  # where the run under way of a queue began
        self.now = 0.0

    def act(self, act: str, which: int, amount: int) -> None:
        queue = self.queues[which]
        if act == "append":
            self.now += which
            self.log.append(self.now, amount)
            self.arrivals += [self.now] * amount
        elif act == "hold":
            self.upto[which] = min(self.passed[which] + amount, len(self.arrivals))
            queue.hold_beyond(self.upto[which])
        elif act == "end":
            self.runs.pop(which, None)
            queue.pinned = None
        elif act == "cancel" and which in self.runs:
            self.passed[which] = self.runs.pop(which)
            queue.give_back(self.passed[which])
            queue.pinned = None
        elif act in ("take", "run") and which not in self.runs and len(queue):
            if act == "run":
                queue.pinned, self.runs[which] = queue.chunk, self.passed[which]
            count = min(amount, len(queue))
            assert (queue.take_one() if amount == 1 else queue.take(count))[1] == self.passed[which]
            self.passed[which] += count

    def agree(self) -> None:
        for number, queue in enumerate(self.queues):
            free = self.arrivals[self.passed[number] : self.upto[number]]
            assert (queue.position, len(queue)) == (self.passed[number], len(free))
            assert queue.head == (free[0] if free else math.inf)
            if free:
                assert queue.ahead == free.count(free[0])
                assert queue.mean == pytest.approx(sum(free) / len(free))


@pytest.mark.usefixtures("trimmed")
def test_what_is_given_back_waits_as_if_it_had_never_been_taken() -> None:
    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(Acts)
    def check(acts: list[tuple[str, int, int]]) -> None:
        model = Model()
        for act in acts:
            model.act(*act)
            model.agree()

    check()


def test_a_log_keeps_what_may_be_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "_TRIM", 4)
    log = Log(size=1)
    queue = TupleQueue(0, log)
    log.append(0.0, 2)
    queue.pinned = queue.chunk
    queue.take(2)
    for moment in range(1, 40):
        log.append(float(moment), 1)
        queue.take(1)
    assert log.base == 0
    queue.give_back(1)
    assert (queue.head, len(queue)) == (0.0, 40)
    queue.pinned = None
    queue.take(40)
    for moment in range(40, 200):
        log.append(float(moment), 1)
        queue.take(1)
    assert log.base > 40


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=8),  # tuples of each window
    st.lists(st.integers(1, 12), min_size=1, max_size=8),  # tuples that fit a run
    st.booleans(),
)
def test_runs_end_where_windows_close(windows: list[int], fitting: list[int], give_back: bool) -> None:
    log = Log(size=1)
    queue = TupleQueue(0, log)
    log.append(0.0, sum(windows) + 3)
    ends = [sum(windows[: place + 1]) for place in range(len(windows))]
    for end in ends:
        queue.hold_beyond(end)
    for count in fitting:
        if not len(queue):
            break
        position, queue.pinned = queue.position, queue.chunk
        closes = [end for end in ends if end > position]
        expected = max((end for end in closes if end <= position + count), default=closes[0])
        assert position + queue.up_to_mark(count) == expected
        queue.take(expected - position)
        if give_back:
            queue.give_back(position)
            assert position + queue.up_to_mark(count) == expected
            queue.take(expected - position)
        queue.pinned = None


def test_where_nothing_is_held_runs_end_anywhere() -> None:
    log = Log(size=1)
    queue = TupleQueue(0, log)
    log.append(0.0, 9)
    assert queue.up_to_mark(4) == 4


def test_windows_that_are_over_are_forgotten_though_nobody_cuts_runs() -> None:
    log = Log(size=1)
    queue = TupleQueue(0, log)
    for moment in range(1000):
        log.append(float(moment), 1)
        queue.hold_beyond(log.end)
        queue.take(1)
    assert len(queue.marks) <= 2
