"""The rotation against a cursor that walks from slot to slot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policies.turns import begin, chosen, end, renew, started, turn

from headgate.model import Train
from headgate.policies.checks import Situation
from headgate.policies.rotation import Rotation

KEYS = "abcde"


class Cursor:
    """Walks over the slots; whoever is awake at a slot is tried there and falls asleep."""

    def __init__(self, slots: Sequence[str]) -> None:
        self.slots = slots
        self.rounds = 0
        self.place = 0
        self.awake: set[str] = set()

    def next(self, able: Collection[str]) -> str | None:
        while self.awake:
            if self.place == len(self.slots):
                self.place, self.rounds = 0, self.rounds + 1
            key = self.slots[self.place]
            self.place += 1
            if key in self.awake:
                self.awake.remove(key)
                if key in able:
                    return key
        return None


Slots = st.lists(st.sampled_from(KEYS), max_size=8).map(lambda more: [*KEYS, *more]).flatmap(st.permutations)
Acts = st.lists(st.one_of(st.sampled_from(KEYS), st.sets(st.sampled_from(KEYS))), max_size=60)


@given(Slots, Acts)
def test_rotation_walks_like_a_cursor(slots: list[str], acts: list[str | set[str]]) -> None:
    """An act is a key that wakes, or the set of keys that can run when the next one is asked for."""
    rotation, cursor = Rotation(slots), Cursor(slots)
    for act in acts:
        if isinstance(act, str):
            rotation.wake(act)
            cursor.awake.add(act)
        else:
            assert rotation.next(act.__contains__) == cursor.next(act)
            assert rotation.rounds == cursor.rounds


THREE: dict[str, Any] = {"queries": dict.fromkeys("abc", "select"), "waiting": dict.fromkeys("abc", 4)}


@pytest.mark.parametrize("text", ["rr, level=query", "rr-rb"])
def test_new_statistics_do_not_start_the_cycle_over(text: str) -> None:
    policy, view = started(text, Situation(**THREE))
    seen = []
    for _ in range(6):
        seen.append(turn(policy, view)[0])
        renew(policy, view)
    assert "".join(seen) == "abcabc"


def test_a_turn_lasts_as_long_as_its_quantum() -> None:
    chain = {"q": ["select, name=leaf", "select, name=root"]}
    policy, view = started("wrr, quantum=2s, leaf=2", Situation(chain, waiting={"q": 9}))
    assert [turn(policy, view) for _ in range(12)] == (["leaf"] * 4 + ["root"] * 2) * 2


def test_a_turn_ends_where_nothing_waits() -> None:
    chain = {"q": ["select, name=leaf", "select, name=root"]}
    policy, view = started("wrr, quantum=9s", Situation(chain, waiting={"q": [2, 3]}))
    assert [turn(policy, view) for _ in range(5)] == ["leaf"] * 2 + ["root"] * 3


def test_without_a_quantum_a_turn_is_one_run() -> None:
    chain = {"q": ["select, name=leaf", "select, name=root"]}
    policy, view = started("wrr, quantum=0", Situation(chain, waiting={"q": 2}))
    assert [turn(policy, view) for _ in range(4)] == ["leaf", "root"] * 2


def test_a_run_takes_what_fits_into_the_turn() -> None:
    """Of a queue that needs longer, the rest waits for the next round; time that is left is used if more comes."""
    chain = {"q": ["select, name=dear, cost=4ms", "select, name=cheap, cost=1ms"]}
    policy, view = started("rr, quantum=10ms", Situation(chain, waiting={"q": 9}))
    first = chosen(policy, view)
    assert str(first.units[0]) == "dear"
    assert first.train == Train(fits=0.010)
    assert turn(policy, view, seconds=0.008) == "dear"
    again = chosen(policy, view)
    assert str(again.units[0]) == "dear"
    assert again.train is not None
    assert again.train.fits == pytest.approx(0.002)
    assert [turn(policy, view, seconds=0.004) for _ in range(4)] == ["dear", "cheap", "cheap", "cheap"]


def test_a_turn_is_worth_the_overhead_of_its_runs() -> None:
    situation = Situation({"q": "select, name=only"}, waiting={"q": 9}, run_overhead=0.1)
    for text in ("rr, quantum=10ms", "wrr, leaf=1", "path-capacity, quantum=10ms"):
        policy, view = started(text, situation)
        assert chosen(policy, view).train == Train(fits=1.0)


def test_turns_on_two_workers_do_not_end_each_other() -> None:
    policy, view = started("rr, quantum=5s, level=query", Situation(**THREE))
    first, second = begin(policy, view, 0), begin(policy, view, 1)
    end(policy, view, first)
    assert [str(run.units[0]) for run in (first, second, begin(policy, view, 0))] == ["a", "b", "a"]
