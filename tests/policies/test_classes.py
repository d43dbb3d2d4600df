"""Class policies decision by decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policies.turns import begin, chosen, end, renew, started, turn

from headgate.model import Choice, HeadgateError, Idle, Level, Outcome, Run
from headgate.plan.network import Network
from headgate.plan.units import units
from headgate.policies.checks import Situation
from headgate.policies.checks.simple_view import SimpleView
from headgate.policies.classes.abd import AdaptiveBroadcastDisks
from headgate.policies.classes.cqc import Account, ContinuousQueryClasses
from headgate.policies.classes.mbd import MultiCoreBroadcastDisks
from headgate.policies.classes.shares import LONGEST, query_priorities
from headgate.policies.contract import Policy
from headgate.policies.registry import create

HCN = {"H": 6.0, "C": 3.0, "N": 1.0}


def one_each(priorities: Mapping[str, float], waiting: int = 99, operator: str = "select", **more: Any) -> Situation:
    """One query for each class, of the class's name."""
    of = {name: name for name in priorities}
    return Situation(
        dict.fromkeys(of, operator), classes=of, priorities=priorities, waiting=dict.fromkeys(of, waiting), **more
    )


def of_classes(policy: Policy, view: SimpleView, turns: int, seconds: float | Mapping[str, float] = 1.0) -> str:
    """Whose turns they are, by the first letters of their units."""
    seen = ""
    for _ in range(turns):
        run = begin(policy, view)
        name = str(run.units[0])[0]
        end(policy, view, run, seconds if isinstance(seconds, int | float) else seconds[name])
        seen += name
    return seen


# -- cqc ---------------------------------------------------------------------------------------------------------


def test_cqc_quotas() -> None:
    policy, _ = started("cqc, period=20s", one_each(HCN))
    assert isinstance(policy, ContinuousQueryClasses)
    assert {name: account.share for name, account in policy.accounts.items()} == pytest.approx(
        {"H": 12.0, "C": 6.0, "N": 2.0}
    )


def test_cqc_serves_each_class_for_its_quota() -> None:
    policy, view = started("cqc, period=20s", one_each(HCN))
    assert of_classes(policy, view, 40) == ("H" * 12 + "C" * 6 + "N" * 2) * 2


def test_cqc_deducts_what_goes_beyond_the_quota() -> None:
    """Runs of N take 5 s of its 2: 3 in debt, so it is passed over once, then has 1 s, which one run exceeds by 4."""
    policy, view = started("cqc, period=20s", one_each(HCN))
    seen = of_classes(policy, view, 100, {"H": 12.0, "C": 6.0, "N": 5.0})
    assert seen[:16] == "HCNHCHCNHCHCHCNH"


@given(st.floats(0.1, 10.0), st.lists(st.floats(0.0, 50.0), min_size=1, max_size=30))
def test_a_class_uses_no_more_than_its_shares_in_the_long_run(share: float, turns: list[float]) -> None:
    """Whatever its turns take: what is used is covered by the rounds that have passed, but for the last excess."""
    account = Account(share, share)
    used, rounds = 0.0, 0
    for seconds in turns:
        while not account.open():
            rounds += 1
        assert used + account.quota <= (rounds + 1) * share + 1e-6 * (1 + used)
        rounds += 1
        account.used = seconds
        used += seconds


def test_a_debt_of_many_rounds_is_paid_at_once() -> None:
    """The only class with something to do goes on after a run a million times as long as its quota."""
    policy, view = started("cqc, period=1us", one_each({"A": 2.0, "B": 1.0}, waiting=3))
    view.queues[1].clear()
    assert of_classes(policy, view, 3, 1e6) == "AAA"


def test_cqc_prefers_the_highest_rate_inside_a_class() -> None:
    queries = {"slow": "select, cost=9ms", "quick": "select, cost=1ms"}
    assert [name.split(".")[0] for name in Situation(queries).order("cqc")] == ["quick", "slow"]


def test_debts_pass_while_nothing_waits() -> None:
    policy, view = started("cqc, period=20s", one_each(HCN, waiting=1))
    assert of_classes(policy, view, 3, 100.0) == "HCN"
    assert isinstance(policy.choose(view, 0), Idle)
    assert isinstance(policy, ContinuousQueryClasses)
    assert all(account.quota == account.share for account in policy.accounts.values())


# -- abd ---------------------------------------------------------------------------------------------------------

ABCDE = dict(zip("ABCDE", [5.0, 4.0, 3.0, 2.0, 1.0], strict=True))


def abd(situation: Situation, text: str = "abd, slice=1s") -> tuple[AdaptiveBroadcastDisks, SimpleView]:
    policy, view = started(text, situation)
    assert isinstance(policy, AdaptiveBroadcastDisks)
    return policy, view


def test_abd_goes_through_its_schedule() -> None:
    policy, view = abd(one_each(ABCDE))
    assert of_classes(policy, view, 30) == "ABCDABACEABCDAB" * 2


def test_abd_passes_over_classes_with_nothing_to_do() -> None:
    policy, view = abd(one_each(ABCDE))
    for number in (0, 2):
        view.queues[number].clear()
    assert of_classes(policy, view, 7) == "BDBEBDB"


def test_a_run_takes_what_fits_the_slice() -> None:
    queries = {"a1": "select, cost=300ms", "a2": "select, cost=300ms"}
    policy, view = abd(Situation(queries, waiting=dict.fromkeys(queries, 9)))
    for left in (1.0, 0.7):
        choice = chosen(policy, view)
        assert choice.train is not None
        assert choice.train.fits == pytest.approx(left)
        run = Run(0, 0, choice.units, (), choice.units[0].calls, 0.0)
        policy.finished(view, run, Outcome(run, 0.3))


def two_queries(waiting: int = 99) -> Situation:
    queries = {"a1": "select, cost=400ms", "a2": "select, cost=400ms", "b": "select, cost=400ms"}
    return Situation(
        queries,
        classes={"a1": "A", "a2": "A", "b": "B"},
        priorities={"A": 1.0, "B": 1.0},
        waiting=dict.fromkeys(queries, waiting),
    )


def test_a_class_goes_on_where_its_slice_ended() -> None:
    """One tuple of each query takes 0.4 s: two fit a slice of 1 s, the third does not, and is first next time."""
    queries = {f"a{number}": "select, cost=400ms" for number in (1, 2, 3)} | {"b": "select, cost=400ms"}
    situation = Situation(queries, classes={name: name[0] for name in queries}, priorities={"a": 1.0, "b": 1.0})
    policy, view = abd(situation)
    names = [turn(policy, view, 0.4).split(".")[0] for _ in range(4)]
    assert names == ["a1", "a2", "b", "a3"]


def test_the_slice_grows_by_the_overrun_and_the_time_needed() -> None:
    """After a run of 1.5 s in a slice of 1 s, 3 tuples of 0.4 s are left."""
    policy, view = abd(one_each({"A": 1.0}, waiting=4, operator="select, cost=400ms"))
    turn(policy, view, 1.5)
    assert policy.seconds == 1.0
    chosen(policy, view)
    assert policy.seconds == pytest.approx(1.0 + 0.5 + 3 * 0.4)


def test_the_slice_shrinks_after_a_round_without_need() -> None:
    """Rounds of one slice. In the first it grows by 0.5 s and 3 · 0.4 s, in the next ones one tuple waits."""
    policy, view = abd(one_each({"A": 1.0}, waiting=4, operator="select, cost=400ms"))
    turn(policy, view, 1.5)
    seen = []
    for _ in range(3):
        turn(policy, view, 0.4)
        seen.append(round(policy.seconds, 9))
        view.queues[0].clear()
        assert isinstance(policy.choose(view, 0), Idle)
        view.queues[0].append(0.0)
        renew(policy, view)
    assert seen == [2.7, 1.0, 1.0]


@pytest.mark.parametrize(
    ("priorities", "slots"),
    [({"A": 3.0, "B": 2.0}, {"A": 3, "B": 1}), ({"A": 3.0, "B": 1.0}, {"A": 4, "B": 1})],
)
def test_abd_repairs_an_inversion_at_the_end_of_a_round(priorities: dict[str, float], slots: dict[str, int]) -> None:
    policy, view = abd(one_each(priorities))
    late = {"A": 2.0, "B": 1.0}
    for _ in range(round(sum(priorities.values()))):
        run = begin(policy, view)
        end(policy, view, run, 1.0, answers=late[run.units[0].payer])
    assert Counter(policy.round) == priorities
    chosen(policy, view)
    assert Counter(policy.round) == slots


@pytest.mark.parametrize(
    ("module", "after"),
    [("step", [5, 4, 2]), ("dvp", [5, 4, 2]), ("ivp", [6, 5, 3]), ("dsp", [5, 4, 2]), ("none", [5, 4, 3])],
)
def test_abd_lets_the_modules_of_mbd_repair_it_too(module: str, after: list[int]) -> None:
    policy, view = started(f"abd, slice=1.0, inversion={module}", one_each({"A": 5.0, "B": 4.0, "C": 3.0}))
    assert isinstance(policy, AdaptiveBroadcastDisks)
    assert policy.wants_answers == (module != "none")
    late = {"A": 1.0, "B": 3.0, "C": 2.0}
    for _ in range(13):
        run = begin(policy, view)
        end(policy, view, run, 1.0, answers=late[run.units[0].payer])
    assert [Counter(policy.round)[name] for name in "ABC"] == after


@pytest.mark.parametrize(("module", "after"), [("none", [5, 4, 3]), ("dsp", [5, 4, 2]), ("isp", [6, 5, 3])])
def test_cqc_gives_classes_other_shares_where_they_are_inverted(module: str, after: list[int]) -> None:
    policy, view = started(f"cqc, period=12.0, inversion={module}", one_each({"A": 5.0, "B": 4.0, "C": 3.0}))
    assert isinstance(policy, ContinuousQueryClasses)
    assert policy.wants_answers == (module != "none")
    late = {"A": 1.0, "B": 3.0, "C": 2.0}
    for _ in range(4):  # a turn of each class, and the first of the next round
        run = begin(policy, view)
        end(policy, view, run, policy.accounts[run.units[0].payer].left, answers=late[run.units[0].payer])
    shares = [account.share for account in policy.accounts.values()]
    assert shares == [pytest.approx(12.0 * part / sum(after)) for part in after]


# -- mbd ---------------------------------------------------------------------------------------------------------


def mbd(situation: Situation, text: str = "mbd") -> tuple[MultiCoreBroadcastDisks, SimpleView]:
    policy, view = started(text, situation)
    assert isinstance(policy, MultiCoreBroadcastDisks)
    return policy, view


def slots(policy: MultiCoreBroadcastDisks, view: SimpleView) -> dict[str, int]:
    return Counter(str(view.units[number]) for number in policy.round)


GOLD_TIN = Situation(
    {"dear": "select, cost=3ms", "cheap": "select, cost=1ms", "tin": "select, cost=1ms"},
    classes={"dear": "gold", "cheap": "gold", "tin": "tin"},
    priorities={"gold": 4.0, "tin": 1.0},
    waiting=dict.fromkeys(["dear", "cheap", "tin"], 99),
)


def test_a_query_has_its_share_of_its_class() -> None:
    assert slots(*mbd(GOLD_TIN)) == {"dear": 3, "cheap": 1, "tin": 1}


Costs = st.lists(st.floats(0.0, 10.0, allow_subnormal=False), min_size=1, max_size=5)


def test_a_source_has_the_slots_of_all_that_read_it() -> None:
    classes = {"a": "gold", "b": "gold", "c": "tin"}
    known = Situation(dict.fromkeys(classes, "select"), classes=classes).network()
    streams = [replace(stream, source_cost=0.001) for stream in known.streams.values()]
    network = Network.of(known.queries.values(), streams, known.classes.values(), reads=True)
    found = query_priorities(units(network, Level.QUERY), {"gold": 6, "tin": 1}, {"a": 2.0, "b": 1.0, "c": 5.0})
    assert {str(unit): found[unit.id] for unit in units(network, Level.QUERY)} == {
        "read s": 7.0,
        "a": 4.0,
        "b": 2.0,
        "c": 1.0,
    }


@given(st.lists(st.tuples(st.integers(1, 100), Costs), min_size=1, max_size=4))
def test_query_priorities(classes: list[tuple[int, list[float]]]) -> None:
    """The least is 1, and classes get time in proportion to their frequencies, unless rounds would be too long."""
    names = {f"c{number}": frequency for number, (frequency, _) in enumerate(classes)}
    costs = {f"c{n}-{place}": cost for n, (_, found) in enumerate(classes) for place, cost in enumerate(found)}
    of = {name: name.split("-")[0] for name in costs}
    network = Situation(dict.fromkeys(costs, "select"), classes=of).network()
    found = query_priorities(units(network, Level.QUERY), names, costs)
    shares = {unit.queries[0]: found[unit.id] for unit in units(network, Level.QUERY)}
    unknown = {f"c{number}" for number, (_, of_class) in enumerate(classes) if not any(of_class)}  # equal shares there
    paid = {name: share for name, share in shares.items() if costs[name] or of[name] in unknown}
    assert all(shares[name] == 1.0 for name in costs if name not in paid)
    assert all(len({shares[name] for name in costs if of[name] == each}) == 1 for each in unknown)
    if paid and sum(paid.values()) < LONGEST - 1:
        assert min(paid.values()) == pytest.approx(1.0)
        totals = dict.fromkeys((of[name] for name in paid), 0.0)
        for name, share in paid.items():
            totals[of[name]] += share
        first = next(iter(totals))
        for name, total in totals.items():
            assert total / names[name] == pytest.approx(totals[first] / names[first], rel=1e-6)
    assert sum(found.values()) <= LONGEST + len(costs)


def test_queries_that_share_operators_add_their_priorities() -> None:
    """Alone, `a` and `b` would cost 3 ms each; together they count as of the highest class."""
    queries = {
        "a": ["select, cost=2ms, name=both", "select, cost=1ms"],
        "b": ["select, cost=2ms, name=both", "select, cost=1ms"],
        "c": "select, cost=1ms",
    }
    situation = Situation(queries, classes={"a": "gold", "b": "tin", "c": "gold"}, priorities={"gold": 7.0, "tin": 1.0})
    assert slots(*mbd(situation)) == {"a+b": 6, "c": 1}


def test_a_fraction_of_a_slot_is_drawn() -> None:
    """Costs 2.5 : 1 in one class: three slots to one, of which the first counts every second round."""
    situation = Situation(
        {"p": "select, cost=5ms", "q": "select, cost=2ms"}, waiting={"p": 9000, "q": 9000}, priorities={"all": 1.0}
    )
    policy, view = mbd(situation)
    assert slots(policy, view) == {"p": 3, "q": 1}
    seen = Counter(of_classes(policy, view, 7000))
    assert seen["p"] / seen["q"] == pytest.approx(2.5, rel=0.05)


def test_a_run_takes_all_that_waits() -> None:
    policy, view = mbd(GOLD_TIN)
    train = chosen(policy, view).train
    assert train is not None
    assert train.size(99) == 99


def test_a_slot_of_a_running_query_lets_it_run_once_more() -> None:
    """Round: dear dear|cheap… While worker 0 runs `dear`, its next slot comes to worker 1."""
    policy, view = mbd(GOLD_TIN)
    names = [str(view.units[number]) for number in policy.round]
    assert names == ["dear", "dear", "cheap", "tin", "dear"]
    first = begin(policy, view, worker=0)
    other = begin(policy, view, worker=1)
    assert (str(first.units[0]), str(other.units[0])) == ("dear", "cheap")
    end(policy, view, first)
    assert str(begin(policy, view, worker=0).units[0]) == "dear"  # once more, before its turn
    end(policy, view, other)
    assert str(begin(policy, view, worker=1).units[0]) == "tin"


def test_affinity_prefers_what_the_worker_ran_last() -> None:
    situation = Situation(dict.fromkeys("abcd", "select, cost=1ms"), waiting=dict.fromkeys("abcd", 9))
    plain: list[tuple[int, str]] = []
    with_affinity: list[tuple[int, str]] = []
    for text, seen in (("mbd", plain), ("mbd, affinity=2", with_affinity)):
        policy, view = mbd(situation, text)
        for worker in (0, 1, 1, 0, 1, 0):
            run = begin(policy, view, worker)
            seen.append((worker, str(run.units[0])))
            end(policy, view, run)
    assert [name for _, name in plain] == list("abcdab")
    assert with_affinity == [(0, "a"), (1, "b"), (1, "c"), (0, "a"), (1, "d"), (0, "b")]


def play_round(policy: MultiCoreBroadcastDisks, view: SimpleView, late: Mapping[str, float]) -> None:
    for _ in range(len(policy.round)):
        run = begin(policy, view)
        end(policy, view, run, 1.0, answers=late[run.units[0].payer])


@pytest.mark.parametrize(
    ("module", "after"),
    [("dvp", [5, 4, 2]), ("ivp", [6, 5, 3]), ("dsp", [5, 4, 2]), ("isp", [6, 5, 3]), ("none", [5, 4, 3])],
)
def test_mbd_repairs_an_inversion_at_the_end_of_a_round(module: str, after: list[int]) -> None:
    """Class B answers later than C, as long as C has three slots and more."""
    situation = one_each({"A": 5.0, "B": 4.0, "C": 3.0}, operator="select, cost=1ms")
    policy, view = mbd(situation, f"mbd, inversion={module}")
    assert policy.wants_answers == (module != "none")
    assert slots(policy, view) == {"A": 2, "B": 2, "C": 1}  # 5 : 4 : 3, where the least is 1
    play_round(policy, view, {"A": 1.0, "B": 3.0, "C": 2.0})
    chosen(policy, view)
    assert list(policy.frequencies.values()) == after


def test_priorities_are_followed_at_the_end_of_the_round() -> None:
    policy, view = mbd(GOLD_TIN)
    view.stats = Situation(**{**vars(GOLD_TIN), "priorities": {"gold": 8.0, "tin": 1.0}}).view(policy).stats
    renew(policy, view)
    assert slots(policy, view) == {"dear": 3, "cheap": 1, "tin": 1}
    for _ in range(6):
        turn(policy, view)
    assert slots(policy, view) == {"dear": 6, "cheap": 2, "tin": 1}


def test_classes_are_followed_at_the_end_of_the_round() -> None:
    """A dear query of gold becomes tin."""
    policy, view = mbd(GOLD_TIN)
    moved = Situation(**{**vars(GOLD_TIN), "classes": {"dear": "tin", "cheap": "gold", "tin": "tin"}}).view(policy)
    view.stats, view.units = moved.stats, moved.units
    renew(policy, view)
    assert slots(policy, view) == {"dear": 3, "cheap": 1, "tin": 1}
    for _ in range(6):
        turn(policy, view)
    assert slots(policy, view) == {"dear": 3, "cheap": 16, "tin": 1}


@pytest.mark.parametrize(
    "change", [{"priorities": {"gold": 8.0, "tin": 1.0}}, {"classes": {**GOLD_TIN.classes, "dear": "tin"}}]
)
def test_without_update_neither_priorities_nor_classes_are_followed(change: dict[str, Any]) -> None:
    policy, view = mbd(GOLD_TIN, "mbd, update=off")
    changed = Situation(**{**vars(GOLD_TIN), **change}).view(policy)
    view.stats, view.units = changed.stats, changed.units
    renew(policy, view)
    for _ in range(12):
        turn(policy, view)
    assert slots(policy, view) == {"dear": 3, "cheap": 1, "tin": 1}


def test_without_update_a_new_query_is_scheduled_by_the_old_priorities() -> None:
    policy, _ = mbd(GOLD_TIN, "mbd, update=off")
    queries, classes = {**GOLD_TIN.queries, "new": "select, cost=1ms"}, {**GOLD_TIN.classes, "new": "tin"}
    later = Situation(queries, classes=classes, priorities={"gold": 100.0, "tin": 1.0})
    policy.changed(later.view(policy))
    assert slots(policy, later.view(policy)) == {"dear": 6, "cheap": 2, "tin": 1, "new": 1}


@pytest.mark.parametrize(("text", "share"), [("mprr", [0.6, 0.3, 0.1]), ("mprr, update=on", [0.2, 0.6, 0.2])])
def test_mprr_keeps_to_the_priorities_it_began_with(text: str, share: list[float]) -> None:
    """Al Moakar 2013, section 6.3.7: it does not notice that priorities change."""
    policy, view = started(text, one_each(HCN))
    view.stats = one_each({**HCN, "H": 1.0, "C": 3.0}).view(policy).stats
    renew(policy, view)
    found = [chosen(policy, view).train for _ in range(3)]
    assert [train.fraction for train in found if train is not None] == pytest.approx(share)


@pytest.mark.parametrize(("text", "after"), [("", [5, 4, 3]), (", equal=true", [5, 4, 2])])
@pytest.mark.parametrize("name", ["mbd", "abd", "cqc"])
def test_answering_just_as_late_can_count_as_inversion(name: str, text: str, after: list[int]) -> None:
    policy, _ = started(f"{name}, inversion=dsp{text}", one_each({"A": 5.0, "B": 4.0, "C": 3.0}))
    frequencies = policy._frequencies  # type: ignore[attr-defined]
    for query_class, seconds in {"A": 1.0, "B": 2.0, "C": 2.0}.items():
        frequencies.responses.add(query_class, [seconds])
    frequencies.judge()
    assert list(frequencies.of.values()) == after


def dearer(share: float) -> Situation:
    cost = f"select, cost={3 * share!r}ms"
    return Situation(**{**vars(GOLD_TIN), "queries": {**GOLD_TIN.queries, "dear": cost}})


@pytest.mark.parametrize(
    ("text", "share", "follows"),
    [
        ("mbd", 2.0, False),
        ("mbd, adapt=s", 2.0, True),
        ("mbd, adapt=s", 1.05, False),
        ("mbd, adapt=s, threshold=0.01", 1.05, True),
        ("mbd, adapt=s, threshold=1.5", 2.0, False),
        ("mbd, inversion=dsp, adapt=sa", 2.0, False),
    ],
)
def test_new_costs_change_the_schedule_only_where_they_are_to(text: str, share: float, follows: bool) -> None:
    policy, view = mbd(GOLD_TIN, text)
    view.stats = dearer(share).view(policy).stats
    renew(policy, view)
    for _ in range(6):
        turn(policy, view)
    assert (slots(policy, view) != {"dear": 3, "cheap": 1, "tin": 1}) == follows


def test_an_inversion_takes_up_new_costs_too() -> None:
    """Frequencies 4 : 1 become 5 : 1 and `dear` has twice its cost: 4.3 : 0.7 : 1, on a scale where the least is 1."""
    policy, view = mbd(GOLD_TIN, "mbd, inversion=dsp, adapt=sa")
    view.stats = dearer(2.0).view(policy).stats
    renew(policy, view)
    play_round(policy, view, {"gold": 2.0, "tin": 1.0})
    chosen(policy, view)
    assert policy.frequencies == {"gold": 5, "tin": 1}
    assert slots(policy, view) == {"dear": 6, "cheap": 1, "tin": 2}


# -- baselines ---------------------------------------------------------------------------------------------------


def test_lottery_draws_by_priority() -> None:
    policy, view = started("lottery", one_each({"A": 6.0, "B": 3.0, "C": 1.0}, waiting=9000))
    seen = Counter(of_classes(policy, view, 8000))
    assert [seen[name] / 8000 for name in "ABC"] == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


def test_lottery_draws_by_share_of_the_cost_inside_a_class() -> None:
    """Al Moakar 2013, section 6.2.1 with 6.1.2: two queries of a class have no more tickets than one would have."""
    queries = {"x": "select, cost=3ms", "y": "select, cost=1ms", "z": "select, cost=9ms"}
    classes, worth = {"x": "gold", "y": "gold", "z": "tin"}, {"gold": 6.0, "tin": 2.0}
    situation = Situation(queries, classes=classes, priorities=worth, waiting=dict.fromkeys(queries, 9000))
    seen = Counter(of_classes(*started("lottery", situation), 8000))
    assert [seen[name] / 8000 for name in "xyz"] == pytest.approx([9 / 16, 3 / 16, 4 / 16], abs=0.02)


def test_operator_lottery_draws_by_cost_inside_a_class() -> None:
    chain = {"q": ["select, cost=3ms, name=x", "select, cost=1ms, name=y"], "r": "select, cost=1ms, name=z"}
    situation = Situation(
        chain, classes={"q": "gold", "r": "tin"}, priorities={"gold": 4.0, "tin": 4.0}, waiting={"q": 9000, "r": 9000}
    )
    seen = Counter(of_classes(*started("operator-lottery", situation), 8000))
    assert [seen[name] / 8000 for name in "xyz"] == pytest.approx([3 / 8, 1 / 8, 4 / 8], abs=0.02)


@pytest.mark.parametrize(("text", "share"), [("mprr", [0.6, 0.3, 0.1]), ("mprr, train=0.5", [0.3, 0.15, 0.05])])
def test_mprr_takes_a_share_of_the_queue(text: str, share: list[float]) -> None:
    policy, view = started(text, one_each(HCN))
    found = []
    for _ in range(3):
        choice = chosen(policy, view)
        assert choice.train is not None
        found.append(choice.train.fraction)
    assert found == pytest.approx(share)


def test_a_class_runs_one_query_at_a_time() -> None:
    policy, view = started("per-class-thread", two_queries())
    first, second = begin(policy, view, 0), begin(policy, view, 1)
    assert [str(run.units[0]) for run in (first, second)] == ["a1", "b"]
    assert isinstance(policy.choose(view, 2), Idle)  # a third core has nothing to do, though a2 waits
    end(policy, view, first)
    assert str(begin(policy, view, 0).units[0]) == "a2"


def test_a_split_class_runs_two() -> None:
    policy, view = started("per-class-thread, split=true", two_queries())
    assert isinstance(policy.choose(view, 2), Choice)
    policy, view = started("per-class-thread, split=true", two_queries())
    begin(policy, view, 2)
    assert {str(begin(policy, view, worker).units[0]) for worker in (0, 1)} | {"a1"} == {"a1", "a2", "b"}


def test_threads_take_turns_on_too_few_cores() -> None:
    policy, view = started("per-class-thread", two_queries())
    assert [turn(policy, view) for _ in range(6)] == ["a1", "b", "a2", "b", "a1", "b"]


# -- settings ----------------------------------------------------------------------------------------------------


def test_times_follow_the_run_overhead_unless_they_are_given() -> None:
    for text, period in (("cqc", 5.0 * 10 * 0.01), ("cqc, period=20ms", 0.02)):
        policy, _ = started(text, one_each({"A": 4.0, "B": 1.0}, run_overhead=0.01))
        assert isinstance(policy, ContinuousQueryClasses)
        assert sum(account.share for account in policy.accounts.values()) == pytest.approx(period)
    long, _ = started("cqc", one_each({"A": 4.0, "B": 1.0}, run_overhead=0.1))
    assert isinstance(long, ContinuousQueryClasses)
    assert sum(account.share for account in long.accounts.values()) == pytest.approx(2.0)
    for text, slice in (("abd", 0.02), ("abd, slice=1ms", 0.001)):
        assert abd(one_each({"A": 1.0}, run_overhead=0.01), text)[0].seconds == pytest.approx(slice)
    assert abd(one_each({"A": 1.0}), "abd")[0].seconds == 50e-6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mbd, adapt=sa", "adapt=sa acts on inversions; add inversion=dsp, or write adapt=s"),
        ("mbd, inversion=up", "inversion must be none or dvp or ivp or dsp or isp, found up"),
        ("mbd, at=p50", "at must be mean or p75 or p90, found p50"),
        ("mbd, affinity=-1", "affinity must be a whole number of at least 0, found -1"),
        ("cqc, period=0", "period must be a number of at least 1e-09, found 0"),
        ("abd, slice=-1s", "slice must be a number of at least 1e-09, found -1.0"),
        ("per-class-thread, split=2", "split must be true or false, found 2"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(HeadgateError) as refused:
        create(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["cqc", "abd", "mbd", "lottery", "operator-lottery", "mprr", "per-class-thread"])
def test_nobody_starves_for_priority_0(name: str) -> None:
    found = one_each({"A": 60.0, "B": 0.0}, waiting=1).order(name)
    assert {unit[0] for unit in found} == {"A", "B"}
