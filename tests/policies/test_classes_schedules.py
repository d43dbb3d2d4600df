"""Schedules of classes, and what inversion modules make of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.policies.classes.frequencies import HIGHEST, Frequencies
from headgate.policies.classes.inversion import MODULES, dsp, dvp, step, victims
from headgate.policies.classes.ranking import LARGEST, whole
from headgate.policies.classes.responses import Responses
from headgate.policies.classes.spreading import spread

Priorities = st.lists(st.integers(1, 200), min_size=1, max_size=8).map(lambda found: dict(enumerate(found)))


def bits(number: int) -> list[int]:
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]


def moments(priorities: dict[int, int]) -> list[list[int]]:
    """The definition, slot by slot: bit b has the moments t with t mod 2^(n-b) = 2^(n-b-1)."""
    n = max(priorities.values()).bit_length()
    falling = sorted(priorities, key=lambda key: -priorities[key])
    return [
        [key for key in falling if any(t % 2 ** (n - b) == 2 ** (n - b - 1) for b in bits(priorities[key]))]
        for t in range(1, 2**n)
    ]


# -- the spread-out cycle ----------------------------------------------------------------------------------------


def test_the_published_schedule() -> None:
    assert "".join(spread(dict(zip("ABCDE", (5, 4, 3, 2, 1), strict=True)))) == "ABCDABACEABCDAB"


@given(Priorities)
def test_the_schedule_is_the_one_defined_by_bits(priorities: dict[int, int]) -> None:
    assert spread(priorities) == [key for moment in moments(priorities) for key in moment]


@given(Priorities)
def test_every_class_has_as_many_slots_as_its_priority(priorities: dict[int, int]) -> None:
    assert Counter(spread(priorities)) == priorities


@given(Priorities)
def test_slots_of_a_class_are_spread_out(priorities: dict[int, int]) -> None:
    """Between two slots of a class, no bit of another comes more often than its distance allows."""
    slots = spread(priorities)
    for key, priority in priorities.items():
        highest = priority.bit_length() - 1
        others = [bit for other, value in priorities.items() if other != key for bit in bits(value)]
        most = 1 + sum(max(1, 2 ** (bit - highest)) for bit in others)
        places = [place for place, found in enumerate(slots) if found == key]
        gaps = [after - before for before, after in pairwise([*places, places[0] + len(slots)])]
        assert max(gaps) <= most


def test_the_published_wait() -> None:
    """Class A waits for four slices at most, where one long turn a round would let it wait for ten."""
    places = [place for place, key in enumerate(spread({"A": 5, "B": 4, "C": 3, "D": 2, "E": 1})) if key == "A"]
    assert max(after - before for before, after in pairwise([*places, places[0] + 15])) == 4


# -- whole priorities --------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, LARGEST), min_size=1, max_size=8))
def test_whole_priorities_stay_as_they_are(given: list[int]) -> None:
    falling = {str(place): float(value) for place, value in enumerate(sorted(given, reverse=True))}
    assert whole(falling) == falling


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8))
def test_whole_priorities_keep_the_order(given: list[float]) -> None:
    falling = {str(place): value for place, value in enumerate(sorted(given, reverse=True))}
    found = whole(falling)
    assert min(found.values()) >= 1
    for upper, lower in pairwise(falling):
        assert (found[upper] > found[lower]) == (falling[upper] > falling[lower])


# -- inversion ---------------------------------------------------------------------------------------------------

FIVE = [50, 40, 30, 20, 10]


@pytest.mark.parametrize(
    ("module", "before", "victim", "after"),
    [
        ("dvp", [50, 40, 30], 2, [50, 40, 29]),
        ("dvp", [60, 20, 1], 2, [60, 21, 1]),
        ("dvp", [30, 20, 19], 1, [60, 39, 38]),
        ("ivp", FIVE, 2, [50, 41, 30, 20, 10]),
        ("dsp", FIVE, 2, [50, 40, 29, 19, 9]),
        ("dsp", [3, 2, 1], 2, [4, 3, 1]),
        ("dsp", [5, 4, 3, 1], 2, [5, 4, 2, 1]),
        ("dsp", [4, 3, 2, 1], 1, [5, 3, 2, 1]),
        ("isp", FIVE, 2, [51, 41, 30, 20, 10]),
    ],
)
def test_published_steps(module: str, before: list[int], victim: int, after: list[int]) -> None:
    """The victim by its number, from 1; the violator is the class below it."""
    assert MODULES[module](before, before, [victim - 1]) == after


@st.composite
def standings(draw: st.DrawFn) -> tuple[list[int], list[float], list[int]]:
    """Frequencies that agree with their classes' ranks, and some victims."""
    ranks = sorted(draw(st.lists(st.integers(1, 9), min_size=2, max_size=6)), reverse=True)
    steps = {rank: draw(st.integers(1, 4)) for rank in sorted(set(ranks))}
    height = {rank: sum(value for other, value in steps.items() if other <= rank) for rank in steps}
    able = [place for place, (upper, lower) in enumerate(pairwise(ranks)) if upper > lower]
    slow = draw(st.lists(st.sampled_from(able), unique=True)) if able else []
    return [height[rank] for rank in ranks], [float(rank) for rank in ranks], slow


@given(st.sampled_from(sorted(MODULES)), standings())
def test_modules_keep_the_order_of_priorities(module: str, standing: tuple[list[int], list[float], list[int]]) -> None:
    frequencies, ranks, slow = standing
    found = MODULES[module](frequencies, ranks, slow)
    assert min(found) >= 1
    assert (found != frequencies) == bool(slow)
    for place, rank in enumerate(ranks):
        assert all(found[place] > found[other] for other, lower in enumerate(ranks) if lower < rank)


@given(st.sampled_from(sorted(MODULES)), standings())
def test_one_victim_gains_on_its_violator(module: str, standing: tuple[list[int], list[float], list[int]]) -> None:
    before, ranks, slow = standing
    for victim in slow:
        after = MODULES[module](before, ranks, [victim])
        assert after[victim] * before[victim + 1] > before[victim] * after[victim + 1]


def test_several_victims_add_up() -> None:
    assert MODULES["isp"](FIVE, FIVE, [1, 3]) == [52, 42, 31, 21, 10]
    assert dsp(FIVE, FIVE, [1, 3]) == [50, 40, 29, 19, 8]
    assert dvp(FIVE, FIVE, [1, 3]) == [50, 40, 29, 20, 9]
    assert step([3, 2, 1], [3, 2, 1], [0, 1]) == [3, 2, 1]  # class 2 loses one and gains one


def test_equal_priorities_and_unknown_times_are_no_inversion() -> None:
    assert victims(["a", "b"], [1, 1], {"a": 2.0, "b": 1.0}) == []
    assert victims(["a", "b"], [2, 1], {"a": 2.0}) == []
    assert victims(["a", "b"], [2, 1], {"a": 1.0, "b": 1.0}) == []


@pytest.mark.parametrize(("at", "value"), [("mean", 28.0), ("p75", 4.0), ("p90", 100.0)])
def test_response_times_are_judged_where_it_is_asked(at: str, value: float) -> None:
    seen = Responses(at)
    seen.add("c", [3.0, 4.0, 5.0, 100.0] if at == "mean" else [2.0, 100.0, 3.0, 4.0])
    assert seen.means() == {"c": value}


def test_an_inversion_that_stays_does_not_lengthen_the_schedule_for_ever() -> None:
    frequencies = Frequencies(dvp)
    frequencies.follow({"a": 3.0, "b": 2.0, "c": 1.0})
    for _ in range(100):
        frequencies.responses.add("a", [2.0])
        frequencies.responses.add("b", [1.0])
        frequencies.judge()
    assert max(frequencies.of.values()) <= HIGHEST


def test_new_priorities_start_from_themselves() -> None:
    frequencies: Any = Frequencies(dsp)
    assert frequencies.follow({"a": 3.0, "b": 2.0})
    frequencies.responses.add("a", [2.0])
    frequencies.responses.add("b", [1.0])
    assert frequencies.judge()
    assert not frequencies.follow({"a": 3.0, "b": 2.0})
    assert frequencies.of == {"a": 3, "b": 1}
    assert frequencies.follow({"b": 9.0, "a": 3.0})
    assert frequencies.of == {"b": 9, "a": 3}
