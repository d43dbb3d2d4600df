"""Pielech 2004, sections 5 and 6: requirements, scores, the wheel, and the turns of the candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.builders import arrive, chains, finish, must_run
from tests.sim.builders import EXAMPLES, emissions, results, workload

from headgate.core import Scheduler, replay_trace
from headgate.metrics import Records, measure
from headgate.model import IDLE, Choice, HeadgateError, Idle, Level, Unit, WorkerId
from headgate.policies import registry
from headgate.policies.adaptive import statistics
from headgate.policies.adaptive.adaptive import Adaptive
from headgate.policies.adaptive.choosers import Roulette
from headgate.policies.adaptive.requirements import TEMPLATES, Requirement
from headgate.policies.adaptive.scoring import History, Selector, normalized, score
from headgate.policies.adaptive.statistics import Interval, statistic
from headgate.policies.checks import RandomRun, Situation
from headgate.policies.contract import Policy, View
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import create, policies, register
from headgate.sim import Simulation, simulate
from headgate.stats import Stats
from headgate.workload import Workload, read_workload

SMALL_QUEUES = [Requirement("queue", "minimize", 1.0)]
Values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


def history(*values: float) -> History:
    made = History()
    for value in values:
        made.add(value)
    return made


# -- scores ------------------------------------------------------------------------------------------------------


def test_the_exponential_average_keeps_seven_eighths_of_the_old() -> None:
    assert history(8.0, 16.0, 0.0).mean == pytest.approx(0.875 * (0.875 * 8 + 0.125 * 16))


@given(Values, Values, st.floats(0.0, 1.0), st.floats(0.0, 20.0))
def test_equation_5_1(own: list[float], others: list[float], decay: float, age: float) -> None:
    mine, union = history(*own), history(*own, *others)
    expected = 0.5
    if max(own + others) > min(own + others):
        assert mine.mean is not None
        assert union.mean is not None
        expected += (mine.mean - union.mean) / (max(own + others) - min(own + others)) * decay**age
    assert normalized(mine, union, decay**age) == pytest.approx(expected, abs=1e-9)


def test_minimize_turns_it_round_and_both_are_weighted() -> None:
    """Where the mean of all is half way: the best is 1, the worst 0."""
    own = {"queue": history(0.0), "output": history(10.0)}
    overall = {"queue": History(0.0, 10.0), "output": History(0.0, 10.0)}
    for each in overall.values():
        each._average.value = 5.0
    both = [Requirement("queue", "minimize", 0.75), Requirement("output", "maximize", 0.25)]
    assert score(both, own, overall, 1.0) == pytest.approx(1.0)
    assert score([replace(each, quantifier="maximize") for each in both], own, overall, 1.0) == pytest.approx(0.25)
    assert score(both, own, overall, 0.0) == pytest.approx(0.5)  # so old that it says nothing


@given(Values, Values, st.sampled_from(["maximize", "minimize"]))
def test_scores_stay_between_0_and_1_though_z_does_not(own: list[float], others: list[float], quantifier: str) -> None:
    mine, union = {"queue": history(*own)}, {"queue": history(*others)}  # a union that lacks the candidate's own
    assert 0.0 <= score([Requirement("queue", quantifier, 1.0)], mine, union, 1.0) <= 1.0


def test_who_ran_keeps_its_score_decayed_and_the_others_are_scored_anew() -> None:
    selector = Selector(2, SMALL_QUEUES, decay=0.5, by_choices=False)
    for candidate, waiting in ((0, 0), (1, 10)):
        selector.chosen(candidate)
        selector.sample(candidate, Interval(1.0, waiting=waiting), 1.0)
    selector.rate(ran=1, now=1.0)
    first = dict(selector.scores)
    assert first[0] > first[1]
    selector.sample(0, Interval(1.0, waiting=0), 3.0)
    selector.rate(ran=0, now=3.0)
    assert selector.scores[0] == pytest.approx(first[0] * 0.5**2)
    own, union = selector.by_candidate[1]["queue"], selector.overall["queue"]
    assert selector.scores[1] == pytest.approx(1 - min(1.0, normalized(own, union, 0.5 ** (3.0 - 1.0))))


def test_age_may_be_the_number_of_other_choices() -> None:
    selector = Selector(2, SMALL_QUEUES, decay=0.5, by_choices=True)
    for candidate, waiting in ((0, 0), (1, 10), (1, 10), (1, 10)):
        selector.chosen(candidate)
        selector.sample(candidate, Interval(1.0, waiting=waiting), 100.0)
    selector.rate(ran=1, now=100.0)
    own, union = selector.by_candidate[0]["queue"], selector.overall["queue"]
    assert selector.scores[0] == pytest.approx(1 - normalized(own, union, 0.5**3))


def test_the_wheel_is_proportional() -> None:
    drawn = Counter(
        Roulette().choose(random, {0: 0.1, 1: 0.6, 2: 0.3}) for random in [Random(1)] for _ in range(10_000)
    )
    assert [drawn[number] / 10_000 for number in range(3)] == pytest.approx([0.1, 0.6, 0.3], abs=0.02)


def test_a_wheel_of_zeros_is_fair() -> None:
    drawn = Counter(Roulette().choose(random, {0: 0.0, 1: 0.0}) for random in [Random(1)] for _ in range(1000))
    assert 400 < drawn[0] < 600


@given(st.integers(0), st.floats(0.93, 1.0))
def test_the_clearly_best_is_drawn_more_often_than_all_others_together(seed: int, decay: float) -> None:
    selector = Selector(3, SMALL_QUEUES, decay, by_choices=False)
    selector.random = Random(seed)
    ran, counted, now = 0, Counter[int](), 0.0
    for turn in range(200):
        now += 2.0
        selector.chosen(ran)
        selector.sample(ran, Interval(2.0, waiting=[5, 100, 100][ran]), now)
        counted[ran] += 1
        selector.rate(ran, now)
        ran = turn % 3 if turn < 3 else selector.draw()
    assert counted[0] > 100


# -- settings ----------------------------------------------------------------------------------------------------


def test_templates_are_requirements() -> None:
    for wanted in TEMPLATES.values():
        assert sum(each.weight for each in wanted) == pytest.approx(1.0)
    assert {each.weight for each in TEMPLATES["balanced"]} == {1 / 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("requirements=[[queue, minimize, 0.5]]", "weights of requirements must sum to 1, found 0.5"),
        ("requirements=[[queue, shrink, 1.0]]", "requirements maximize or minimize, found shrink"),
        ("requirements=[[queues, minimize, 1.0]]", "unknown statistic 'queues'; did you mean 'queue'"),
        ("requirements=[[queue, minimize, 2]]", "must be a number from 0 to 1, found 2"),
        ("requirements=queue", "requirements must be a list"),
        ("requirements=[queue]", "a statistic, a quantifier, a weight"),
        ("requirements=[[queue, minimize, 1]], template=balanced", "both given; keep one of them"),
        ("candidates=[rr, bsdd]", "unknown policy 'bsdd'; did you mean 'bsd'"),
        ("candidates=[]", r"candidates must be a list of policies.*write for example candidates="),
        ("candidates=[adaptive, rr]", "among its own candidates"),
        ("candidates=[rr, chain], level=query", "candidate 'chain' has no level query; it has operator"),
        ("candidates=[(bsd, clusters=-3)]", "clusters must be a whole number of at least 0"),
        ("decay=1.5", "decay must be a number from 0 to 1, found 1.5"),
        ("every=0s", "every must be a number of at least 0.001, found 0.0"),
        ("template=best", "template must be balanced or small-queues or short-delay or high-output"),
    ],
)
def test_what_is_wrong_is_named(settings: str, message: str) -> None:
    with pytest.raises(HeadgateError, match=message):
        create(f"adaptive, {settings}")


def made(text: str) -> Adaptive:
    policy = create(text)
    assert isinstance(policy, Adaptive)
    return policy


def test_candidates_are_policy_strings() -> None:
    policy = made("adaptive, candidates=[rr, (bsd, clusters=3, level=operator), (hr, train=5)], train=2")
    assert [str(each) for each in policy._candidates] == [
        "rr, train=2",
        "bsd, train=2, clusters=3, level=operator",
        "hr, train=5",
    ]


def test_a_level_holds_for_all_that_have_it() -> None:
    assert [str(each) for each in made("adaptive, level=query")._candidates] == [
        "rr, level=query",
        "fifo, level=query",
        "mtiq, level=query",
    ]
    assert made("adaptive, level=query").level is Level.QUERY
    assert made("adaptive, candidates=[hr, rr]").level is Level.OPERATOR


# -- one candidate -----------------------------------------------------------------------------------------------

OTHERS = sorted(set(policies()) - {"adaptive"})


@pytest.mark.parametrize("name", OTHERS)
def test_with_one_candidate_it_is_that_candidate(name: str) -> None:
    for seed in range(2):
        alone, wrapped = create(name), create(f"adaptive, candidates={name}")
        for policy in (alone, wrapped):
            policy.seed(3)
        assert (
            RandomRun(alone, seed=seed).step(150).drain().decisions
            == RandomRun(wrapped, seed=seed).step(150).drain().decisions
        )


@pytest.mark.parametrize("text", ["segment", "hnr, sharing=pdt", "random", "bsd, clusters=3, batch=cluster", "rr-rb"])
def test_with_one_candidate_simulations_are_the_same(text: str) -> None:
    small = replace(read_workload(EXAMPLES / "sensors.toml"), duration=2.0)
    alone, wrapped = simulate(small, text), simulate(small, f"adaptive, candidates=[({text})]")
    assert emissions(alone) == emissions(wrapped)
    assert (alone.decisions, alone.runs) == (wrapped.decisions, wrapped.runs)


# -- turns -------------------------------------------------------------------------------------------------------


def turns(policy: str, seconds: int, step: float = 0.25) -> list[tuple[float, str]]:
    """When which candidate took over, with work at all times."""
    scheduler = Scheduler(chains(p="select, name=p", q="select, name=q"), policy)
    adaptive = scheduler.policy
    assert isinstance(adaptive, Adaptive)
    found: list[tuple[float, str]] = []
    for tick in range(int(seconds / step)):
        now = tick * step
        arrive(scheduler, 5, at=now)
        run = must_run(scheduler, now=now)
        active = str(adaptive._candidates[adaptive._active])
        if not found or found[-1][1] != active:
            found.append((now, active))
        finish(scheduler, run, now)
    return found


def test_the_first_warms_up_each_is_explored_and_the_first_once_more() -> None:
    found = turns("adaptive, candidates=[rr, fifo, mtiq]", 9)
    assert found == [(0.0, "rr"), (6.0, "fifo"), (7.0, "mtiq"), (8.0, "rr")]  # 5 s to warm up, 1 s each


def test_then_one_is_drawn_every_two_seconds() -> None:
    found = turns("adaptive, warmup=0s, candidates=[rr, fifo, mtiq]", 60)
    drawn = [at for at, _ in found if at > 4.0]
    assert len(drawn) > 5
    assert all(at % 2 == 0 for at in drawn)


def test_nothing_counts_while_warming_up() -> None:
    scheduler = Scheduler(chains(p="select"), "adaptive, candidates=[rr, fifo], sample=100ms")
    assert isinstance(scheduler.policy, Adaptive)
    for tick in range(1, 50):
        arrive(scheduler, 1, at=tick / 10)
        finish(scheduler, must_run(scheduler, now=tick / 10), tick / 10)
    assert scheduler.policy._selector.overall["queue"].mean is None


class Lazy(Policy):
    """Finds nothing the first times it is asked.

    >>> 1 + 1
    2
    """

    source = "nobody 2000"
    rule = "idles"
    levels = (Level.OPERATOR,)
    asked = 0

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        self.asked += 1
        found = sorted(view.ready)
        return Choice((view.ready[found[0]],)) if found and self.asked % 4 == 0 else IDLE


class Worst(Linear):
    """The lowest rate first.

    >>> 1 + 1
    2
    """

    source = "nobody 2000"
    rule = "lowest S/C"
    needs = frozenset({"output_rate"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return -stats.output_rate(unit), 0.0


@contextmanager
def known(name: str, kind: type[Policy]) -> Iterator[None]:
    """A policy that is registered for a while."""
    policies()
    register(name)(kind)
    try:
        yield
    finally:
        del registry._POLICIES[name]


@pytest.mark.parametrize(("starve", "replaced"), [(3, True), (4, False)])
def test_who_finds_no_work_is_replaced_at_once(starve: int, replaced: bool) -> None:
    with known("lazy", Lazy):
        scheduler = Scheduler(chains(p="select"), f"adaptive, candidates=[lazy, fifo], starve={starve}")
    assert isinstance(scheduler.policy, Adaptive)
    arrive(scheduler, 1)
    must_run(scheduler)
    assert scheduler.policy._active == replaced


def test_without_work_nobody_starves() -> None:
    with known("lazy", Lazy):
        scheduler = Scheduler(chains(p="select"), "adaptive, candidates=[lazy, fifo], starve=1")
    assert isinstance(scheduler.policy, Adaptive)
    assert scheduler.next(0, 0.0) == IDLE
    assert scheduler.policy._active == 0


# -- in the simulator --------------------------------------------------------------------------------------------


def busy(seconds: int = 60) -> Workload:
    """A cheap query and a dear one that together keep a core nearly busy."""
    queries = {"cheap": "select, cost=5ms, selectivity=1.0", "dear": "select, cost=100ms, selectivity=0.1"}
    return workload(queries, "poisson, rate=9", duration=f"{seconds} s", seed=2)


class Watched(Simulation):
    """Adds up the seconds of every candidate."""

    def shares(self) -> tuple[Records, dict[str, float]]:
        policy, spent = self.scheduler.policy, Counter[str]()
        assert isinstance(policy, Adaptive)
        inner = policy.finished

        def finished(view: View, run: object, outcome: object) -> None:
            spent[str(policy._candidates[policy._active])] += outcome.seconds  # type: ignore[attr-defined]
            inner(view, run, outcome)  # type: ignore[arg-type]

        policy.finished = finished  # type: ignore[method-assign]
        records = self.run()
        return records, {name: seconds / spent.total() for name, seconds in spent.items()}


@pytest.mark.parametrize("template", ["balanced", "short-delay", "small-queues", "high-output"])
def test_a_clearly_best_candidate_runs_most_of_the_time(template: str) -> None:
    with known("worst", Worst):
        _, shares = Watched(busy(300), f"adaptive, candidates=[worst, hr], template={template}").shares()
    assert shares["hr"] > 0.6


def test_samples_are_what_the_records_say() -> None:
    text = "adaptive, candidates=[fcfs, hr], warmup=0s, explore=1000s, sample=1000s"
    simulation = Simulation(busy(10), text)
    policy = simulation.scheduler.policy
    assert isinstance(policy, Adaptive)
    records = simulation.run()
    gathered = policy._gathering
    assert gathered.results == sum(len(query.emission) for query in records.queries)
    assert gathered.delay / gathered.results == pytest.approx(measure(records).value("response_time.mean"))
    assert gathered.busy == pytest.approx(records.busy)
    assert gathered.runs == records.runs


MIXED = "adaptive, warmup=100ms, explore=100ms, every=200ms, sample=50ms, candidates=[{}]"
CANDIDATES = "(hr, level=query), chain, path-capacity, segment, (hnr, sharing=pdt)"


@pytest.mark.parametrize("cores", [1, 2])
def test_candidates_of_all_levels_lose_and_double_nothing(cores: int) -> None:
    plant = workload(
        {
            "one": ["select, cost=2ms, selectivity=0.5", "project, cost=3ms"],
            "left": ["select, cost=1ms, selectivity=0.5, name=both", "project, cost=2ms"],
            "right": ["select, cost=1ms, selectivity=0.5, name=both", "select, cost=4ms, selectivity=0.5"],
        },
        "poisson, rate=80",
        cores=cores,
        drain=True,
    )
    mixed, plain = simulate(plant, MIXED.format(CANDIDATES)), simulate(plant, "fcfs")
    assert mixed.unfinished == plain.unfinished == 0
    assert results(mixed) == results(plain)


def test_a_recorded_run_is_repeated() -> None:
    trace = StringIO()
    simulate(busy(10), MIXED.format(CANDIDATES), trace=trace)
    assert replay_trace(trace.getvalue().splitlines()).same


def test_users_add_statistics() -> None:
    @statistic("runs")
    def runs(interval: Interval) -> float:
        return interval.runs / interval.seconds

    try:
        assert runs(Interval(2.0, runs=6)) == 3.0
        policy = made("adaptive, candidates=[rr, fifo], requirements=[[runs, minimize, 1]], warmup=0s")
        RandomRun(policy, Situation({"p": "select"})).step(400).drain()
        assert policy._selector.overall["runs"].mean is not None
        with pytest.raises(ValueError, match="there is a statistic 'runs' already"):
            statistic("runs")(runs)
    finally:
        del statistics._STATISTICS["runs"]
