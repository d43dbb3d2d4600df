"""What is learned of an engine's runs, on made-up ones whose costs are known."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.history.records import Answer, RunRecord
from headgate.model import HeadgateError
from headgate.what_if.job_costs import JobCosts, fit_jobs

FORMS = {"a": "rows", "b": "rows", "c": "window"}


def run(number: int, queries: tuple[str, ...], began: float, taken: int, seconds: float, results: int = 0) -> RunRecord:
    return RunRecord(
        id=number,
        worker=0,
        unit="+".join(queries),
        query_class="x",
        queries=queries,
        tuples=taken * len(queries),
        oldest=began,
        began=began,
        evaluated=began + seconds,
        ended=began + seconds + 0.01,
        jobs=1.0,
        read=float(taken),
        answers={queries[0]: Answer(results, began, began)} if results else {},
    )


def recorded(
    fixed: float, per_tuple: float, queries: tuple[str, ...] = ("a",), slow: float = 1.0
) -> Iterator[RunRecord]:
    """Runs one after another; those of the second half take so many times as long."""
    dice = random.Random(1)
    began = 0.0
    for number in range(60):
        taken = dice.randrange(100, 5000)
        seconds = (fixed + per_tuple * taken) * (slow if number >= 30 else 1.0)
        yield run(number, queries, began, taken, seconds)
        began += seconds + 0.1


def fitted(*runs: RunRecord) -> JobCosts:
    return fit_jobs(sorted(runs, key=lambda one: one.began), FORMS)


@given(fixed=st.floats(0.01, 1.0), per_tuple=st.floats(1e-6, 1e-3))
def test_costs_that_are_linear_are_found(fixed: float, per_tuple: float) -> None:
    unit = fitted(*recorded(fixed, per_tuple)).unit(["a"], {})
    assert unit.seconds(2000, 0) == pytest.approx(fixed + 2000 * per_tuple, rel=0.05)
    assert [one.commit for one in unit.samples.runs] == pytest.approx([0.01] * 60)


def test_runs_beside_others_are_slower() -> None:
    alone = [run(number, ("a",), 10.0 * number, 1000, 1.0) for number in range(20)]
    beside = [run(100 + number, (query,), 300 + 10.0 * number, 1000, 1.5) for number in range(20) for query in "ab"]
    beside = [run(one.id * 2 + (one.queries == ("b",)), one.queries, one.began, 1000, 1.5) for one in beside]
    costs = fitted(*alone, *beside)
    assert costs.crowding == pytest.approx(0.5, abs=0.1)
    assert costs.slower(1) * costs.unit(["a"], {}).seconds(1000, 0) == pytest.approx(1.5, rel=0.1)


def test_a_machine_that_became_slow_is_slow_at_the_same_time_again() -> None:
    runs = list(recorded(0.1, 1e-4, slow=3.0))
    unit, dice = fitted(*runs).unit(["a"], {}), random.Random(1)
    early, late = (unit.samples.like(runs[place].began, (2000.0,), dice).off for place in (10, 50))
    assert late / early == pytest.approx(3.0, rel=0.1)


def test_a_group_that_never_ran_shares_one_job_if_its_queries_have_one_form() -> None:
    singles = [
        one
        for place, query in enumerate("abc")
        for one in recorded(0.1, 1e-4, (query,))
        for one in [run(one.id * 3 + place, (query,), one.began + 1000 * place, one.tuples, one.seconds)]
    ]
    costs = fitted(*singles)
    assert costs.unit(["a", "b"], {}).jobs == pytest.approx(1.0)
    assert costs.unit(["a", "c"], {}).jobs == pytest.approx(2.0)
    assert costs.unit(["a", "b"], {}).seconds(1000, 0) == pytest.approx(0.2, rel=0.2)


def test_a_query_that_was_not_recorded_costs_what_its_stand_in_does() -> None:
    costs = fitted(*recorded(0.1, 1e-4))
    assert costs.unit(["new"], {"new": "a"}).seconds(1000, 0) == pytest.approx(0.2, rel=0.1)


def test_runs_that_failed_or_gave_way_teach_nothing() -> None:
    with pytest.raises(HeadgateError, match="too few runs to learn from: 3"):
        fitted(*list(recorded(0.1, 1e-4))[:3])
