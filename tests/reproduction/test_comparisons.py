"""The rule of the verdicts."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reproduction import (
    Bound,
    Comparison,
    Crossing,
    Form,
    Holds,
    Order,
    Ratio,
    Sample,
    Shape,
    Value,
    Verdict,
    crossing,
    verdict,
)

POSITIVE = st.floats(0.01, 100.0)
NAMES = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=2, max_size=6, unique=True)


def kind(order_ok: bool, figures_ok: bool) -> Comparison:
    """Some comparison that came out like this."""
    if not order_ok:
        return Holds("it", False)
    return Value("it", 1.0, Sample.of(1.0 if figures_ok else 2.0))


COMPARISONS = st.lists(st.tuples(st.booleans(), st.booleans()).map(lambda ok: kind(*ok)), min_size=1, max_size=6)
RANKS = {Verdict.NOT: 0, Verdict.PARTLY: 1, Verdict.REPRODUCED: 2}


@given(COMPARISONS, st.randoms())
def test_a_verdict_is_the_worst_of_its_comparisons_in_any_order(made: list[Comparison], random: st.DataObject) -> None:
    worst = min((verdict([each]) for each in made), key=RANKS.__getitem__)
    shuffled = list(made)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert verdict(made) == verdict(shuffled) == worst


def test_the_three_verdicts() -> None:
    assert verdict([kind(True, True), kind(True, True)]) == Verdict.REPRODUCED
    assert verdict([kind(True, True), kind(True, False)]) == Verdict.PARTLY
    assert verdict([kind(True, True), kind(False, True)]) == Verdict.NOT
    assert verdict([]) == Verdict.NOT


@given(POSITIVE, POSITIVE)
def test_a_ratio_is_judged_alike_both_ways_round(published: float, measured: float) -> None:
    if published == 1.0 or measured == 1.0 or abs(max(published / measured, measured / published) - 1.25) < 1e-9:
        return
    this, other = (Ratio("it", *pair) for pair in _ratios(published, measured))
    assert (this.order_ok, this.figures_ok) == (other.order_ok, other.figures_ok)


def _ratios(published: float, measured: float) -> list[tuple[float, Sample]]:
    return [(published, Sample.of(measured)), (1 / published, Sample.of(1 / measured))]


@pytest.mark.parametrize(
    ("published", "measured", "expected"),
    [
        (4.0, 5.0, Verdict.REPRODUCED),
        (4.0, 5.01, Verdict.PARTLY),
        (4.0, 3.2, Verdict.REPRODUCED),
        (4.0, 3.19, Verdict.PARTLY),
        (0.26, 0.3, Verdict.REPRODUCED),
        (0.82, 1.01, Verdict.NOT),  # near, but on the other side of 1
        (1.04, 0.99, Verdict.NOT),
        (1.0, 0.9, Verdict.REPRODUCED),
    ],
)
def test_a_ratio_within_a_quarter(published: float, measured: float, expected: Verdict) -> None:
    assert verdict([Ratio("it", published, Sample.of(measured))]) == expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [(12.0, Verdict.REPRODUCED), (12.1, Verdict.PARTLY), (8.34, Verdict.REPRODUCED), (8.3, Verdict.PARTLY)],
)
def test_a_crossing_within_a_fifth(place: float, expected: Verdict) -> None:
    assert verdict([Crossing("it", 10.0, place)]) == expected


def test_what_never_crosses_is_not_reproduced() -> None:
    assert verdict([Crossing("it", 10.0, None)]) == Verdict.NOT


@given(NAMES, st.data())
def test_only_the_published_order_is_in_order(names: list[str], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 20), min_size=len(names), max_size=len(names)))
    samples = {name: Sample.of(float(number)) for name, number in zip(names, numbers, strict=True)}
    assert Order("it", names, samples).order_ok == (numbers == sorted(set(numbers)))
    assert Order("it", [names], samples).order_ok  # one group says nothing
    together = [names[0], names[1:]]
    assert Order("it", together, samples).order_ok == (numbers[0] < min(numbers[1:]))


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8, unique=True))
def test_forms_exclude_each_other(values: list[float]) -> None:
    curve = {float(place): Sample.of(value) for place, value in enumerate(values)}
    rising, falling, peak, valley = (
        Shape("it", form, curve).order_ok for form in (Form.RISING, Form.FALLING, Form.PEAK, Form.VALLEY)
    )
    assert not (rising and falling)
    up = {float(place): Sample.of(value) for place, value in enumerate(sorted(values))}
    assert Shape("it", Form.RISING, up).order_ok
    assert not Shape("it", Form.FALLING, up).order_ok
    assert not Shape("it", Form.PEAK, up).order_ok
    assert not Shape("it", Form.VALLEY, up).order_ok
    assert peak == (max(values) not in (values[0], values[-1]))
    assert valley == (min(values) not in (values[0], values[-1]))


def test_flat_is_within_a_quarter() -> None:
    assert Shape("it", Form.FLAT, {1: Sample.of(4.0), 2: Sample.of(5.0)}).order_ok
    assert not Shape("it", Form.FLAT, {1: Sample.of(4.0), 2: Sample.of(5.1)}).order_ok


MISSING = Sample.of([1.0, nan])


@pytest.mark.parametrize(
    "comparison",
    [
        Ratio("it", 1.0, MISSING),
        Value("it", 1.0, MISSING),
        Bound("it", MISSING, most=2.0),
        Order("it", ("a", "b"), {"a": Sample.of(0.0), "b": MISSING}),
        Shape("it", Form.FLAT, {1: MISSING, 2: MISSING}),
        Shape("it", Form.RISING, {}),
        Crossing("it", 1.0, nan),
    ],
)
def test_what_has_no_value_is_not_reproduced(comparison: Comparison) -> None:
    assert verdict([comparison]) == Verdict.NOT
    assert comparison.measured is not None  # it can be shown all the same


@pytest.mark.parametrize(
    ("measured", "expected"),
    [(1.2, Verdict.REPRODUCED), (1.8, Verdict.REPRODUCED), (1.9, Verdict.PARTLY), (0.85, Verdict.REPRODUCED)],
)
def test_a_bound(measured: float, expected: Verdict) -> None:
    assert verdict([Bound("it", Sample.of(measured), least=1.0, most=1.5)]) == expected


@given(st.floats(0.1, 0.9), st.floats(0.5, 3.0))
def test_lines_cross_where_they_do(place: float, slope: float) -> None:
    places = [0.0, 0.05, 0.3, 0.6, 1.0]
    flat = {at: Sample.of(1.0) for at in places}
    steep = {at: Sample.of(1.0 + slope * (at - place)) for at in places}
    assert crossing(flat, steep) == pytest.approx(place)
    assert crossing(steep, flat) == pytest.approx(place)
    assert crossing(flat, {at: Sample.of(2.0) for at in places}) is None


def test_samples_are_compared_seed_by_seed() -> None:
    ratio = Sample.of([2.0, 30.0]) / Sample.of([1.0, 10.0])
    assert ratio.values == (2.0, 3.0)
    assert (1 - ratio).values == (-1.0, -2.0)
    assert not (ratio / 0.0).known
    with pytest.raises(ValueError):
        ratio / Sample.of([1.0])
