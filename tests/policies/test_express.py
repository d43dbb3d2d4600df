"""express: the longest wait by priority, and a turn for every class that waits too long."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from tests.core.builders import arrive, finish, must_run, query, scheduler

from headgate.core import PriorityChanged, Scheduler
from headgate.model import Idle

PLAIN = "slice=off, preempt=off, keep=0"


def classes(settings: str, of: Mapping[str, str], workers: int = 1) -> Scheduler:
    """Classes so far apart that only patience gives the lowest a turn."""
    core = scheduler(f"express, {settings}", *(query(name, "select", of[name]) for name in of), workers=workers)
    core.event(PriorityChanged("gold", 1e8), 0.0)
    core.event(PriorityChanged("silver", 1e4), 0.0)
    return core


def turns(core: Scheduler, times: int, step: float) -> list[str]:
    """Who runs, if something new comes to everybody before each decision."""
    names = []
    for number in range(1, times + 1):
        arrive(core, at=(number - 0.5) * step)
        run = must_run(core, now=number * step)
        names.append(run.units[0].name)
        finish(core, run, number * step)
    return names


def test_a_class_that_waits_gets_a_turn_after_its_patience() -> None:
    core = classes(f"{PLAIN}, patience=1s", {"g": "gold", "t": "tin"})
    found = turns(core, 40, 0.1)
    assert "t" in found
    apart = [place for place, name in enumerate(found) if name == "t"]
    assert max(later - sooner for sooner, later in pairwise(apart)) <= 12


def test_the_turn_goes_to_the_unit_whose_turn_was_longest_ago() -> None:
    core = classes(f"{PLAIN}, patience=0s", {"g": "gold", "t": "tin", "u": "tin"})
    found = [name for name in turns(core, 30, 0.1) if name != "g"]
    assert set(found) == {"t", "u"}
    assert all(name != following for name, following in pairwise(found))


def test_a_class_keeps_its_turn_while_a_worker_is_kept_from_it() -> None:
    """Asking for the kept worker, which nothing of its class may use, must not make a class wait anew."""
    core = classes("slice=off, preempt=off, keep=1, patience=1s", {"g": "gold", "s": "silver", "t": "tin"}, workers=2)
    found = []
    for number in range(1, 61):
        now = number * 0.1
        arrive(core, at=now - 0.05)
        lower = must_run(core, worker=0, now=now)
        if lower.units[0].name == "g":
            finish(core, lower, now)
            lower = must_run(core, worker=0, now=now)
        found.append(lower.units[0].name)
        while not isinstance(run := core.next(1, now), Idle):
            assert run.units[0].name == "g"
            finish(core, run, now)
        finish(core, lower, now)
    apart = [place for place, name in enumerate(found) if name == "t"]
    assert max(later - sooner for sooner, later in zip([0, *apart], [*apart, 60], strict=True)) <= 12


def test_each_unit_of_a_class_gets_a_turn_after_its_patience() -> None:
    """Not only one of them at a time: else the wait of a query grew with the number of queries beside it."""
    core = classes(f"{PLAIN}, patience=1s", {"g": "gold", **dict.fromkeys("tuvw", "tin")})
    found = turns(core, 100, 0.1)
    for name in "tuvw":
        places = [place for place, other in enumerate(found) if other == name]
        assert max(later - sooner for sooner, later in pairwise([-1, *places, 100])) <= 10 + 2 * 4


@pytest.mark.parametrize("between", [0, 1, 4])
def test_classes_in_between_do_not_keep_units_waiting(between: int) -> None:
    """Those get no turns by score either, so nothing may wait for such turns."""
    middle = {f"s{number}": "silver" for number in range(between)}
    low = {f"t{number}": "tin" for number in range(10)}
    found = turns(classes(f"{PLAIN}, patience=1s", {"g": "gold", **middle, **low}), 200, 0.02)
    for name in low:
        places = [place for place, other in enumerate(found) if other == name]
        longest = max(later - sooner for sooner, later in pairwise([-1, *places, 200]))
        assert longest <= 50 + 3 * (10 + between), "a second, then three turns for each unit that waits"


def test_units_that_wait_too_long_leave_every_more_important_class_its_turns() -> None:
    """Here they have far more units than get turns, and the turns of whole classes are few."""
    names = {f"t{number}": "tin" for number in range(300)}
    found = turns(classes(f"{PLAIN}, patience=1s", {"g": "gold", **names}), 200, 0.02)[60:]
    assert 65 <= found.count("g") <= 75, "all of tin waits too long, and gold keeps half of the 140 turns"


def test_none_starves_beside_many_units_of_the_highest_class() -> None:
    names = {f"g{number}": "gold" for number in range(20)}
    found = turns(classes(f"{PLAIN}, patience=0.2s", {"t": "tin", **names}), 60, 0.1)
    assert set(found) == {"t", *names}
