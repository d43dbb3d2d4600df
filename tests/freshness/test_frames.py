from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.freshness import Elements, plan
from headgate.freshness.column_names import ColumnNames
from headgate.freshness.frames.logs import profile_frame, rates_frame
from headgate.freshness.frames.plan import FramePlan, plan_frame
from headgate.freshness.profiles import master_profile
from headgate.freshness.rates import Histories, estimate
from headgate.freshness.setups import Setup
from headgate.model import HeadgateError


def frame_of(spark: SparkSession, **columns: Any) -> DataFrame:
    return spark.createDataFrame(pa.table(columns))


def as_frame(spark: SparkSession, elements: Elements, **more: Any) -> DataFrame:
    return frame_of(
        spark,
        id=np.arange(len(elements)),
        change_rate=elements.change_rate,
        access=elements.access,
        size=elements.size,
        **more,
    )


def in_order(found: FramePlan) -> tuple[Any, Any]:
    table = found.frame.toArrow().sort_by("id")
    return table.column("frequency").to_numpy(), table.column("freshness").to_numpy()


@pytest.fixture(scope="module")
def elements() -> Elements:
    known = Setup(objects=20_000, updates=40_000, syncs=10_000, pareto=1.5, deviation=2.0).elements()
    rate, access = known.change_rate.copy(), known.access.copy()
    rate[::50], access[1::50] = 0.0, 0.0
    return Elements.of(rate, access, known.size)


def test_spark_and_numpy_agree(spark: SparkSession, elements: Elements) -> None:
    exact = plan(elements, 10_000)
    found = plan_frame(as_frame(spark, elements), 10_000)
    frequency, fresh = in_order(found)
    np.testing.assert_allclose(frequency, exact.frequency, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fresh, exact.freshness, rtol=1e-6, atol=1e-9)
    assert found.perceived_freshness == pytest.approx(exact.perceived_freshness, rel=1e-10)
    assert found.certificate.multiplier == pytest.approx(exact.certificate.multiplier, rel=1e-9)
    assert found.certificate.used == pytest.approx(10_000, rel=1e-9)
    assert found.certificate.violation < 1e-9
    assert (found.unrefreshed, found.elements) == (exact.unrefreshed, len(elements))
    assert found.passes <= 8


def test_floors_on_spark(spark: SparkSession, elements: Elements) -> None:
    exact = plan(elements, 30_000, min_freshness=0.3)
    found = plan_frame(as_frame(spark, elements), 30_000, min_freshness=0.3, unique_ids=True)
    frequency, fresh = in_order(found)
    np.testing.assert_allclose(frequency, exact.frequency, rtol=1e-6, atol=1e-9)
    assert fresh.min() >= 0.3 - 1e-9
    floors = np.where(np.arange(len(elements)) % 3 == 0, 0.4, 0.0)
    exact = plan(elements, 30_000, min_freshness=floors)
    found = plan_frame(as_frame(spark, elements, min_freshness=floors), 30_000, unique_ids=True)
    np.testing.assert_allclose(in_order(found)[0], exact.frequency, rtol=1e-6, atol=1e-9)
    with pytest.raises(HeadgateError, match="the floors need a bandwidth of"):
        plan_frame(as_frame(spark, elements), 100, min_freshness=0.3, unique_ids=True)


def test_small_and_strange_problems(spark: SparkSession) -> None:
    strange = [
        (Elements.of([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]), 5.0),
        (Elements.of([1, 1e10], [1, 0.5e10]), 1.0),  # the use jumps: a mixture of two plans
        (Elements.of([0, 0, 2], [1, 1, 0]), 10.0),  # nothing to refresh
        (Elements.of([1e-8, 1, 1e8], [1, 1, 1]), 1e4),
    ]
    for elements, bandwidth in strange:
        exact = plan(elements, bandwidth)
        found = plan_frame(as_frame(spark, elements), bandwidth, unique_ids=True, cache=False)
        np.testing.assert_allclose(in_order(found)[0], exact.frequency, rtol=1e-6, atol=1e-12)
        assert found.certificate.violation < 1e-9


def test_columns_by_name(spark: SparkSession) -> None:
    frame = frame_of(spark, url=["a", "b"], λ=[1, 2], hits=[3, 1])
    found = plan_frame(frame, 2.0, columns=ColumnNames(id="url", change_rate="λ", access="hits"))
    expected = plan(Elements.of([1, 2], [3, 1]), 2.0)
    assert dict(map(tuple, found.frame.select("id", "frequency").collect())) == pytest.approx(
        dict(zip("ab", expected.frequency.tolist(), strict=True))
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"change_rate": [1.0, -1.0, 2.0]}, "change_rate is negative in row with id b"),
        ({"change_rate": [None, None, 2.0]}, "change_rate is missing in rows with id a and b"),
        ({"access": [0.0, 0.0, 0.0]}, "access sums to 0"),
        ({"access": [1.0, float("nan"), 1.0]}, "access is missing in row with id b"),
        ({"id": ["a", "b", "a"]}, "id is not unique: a"),
        ({"id": ["a", "b", None]}, "id is missing in row with id None"),
        ({"size": [1.0, 0.0, 1.0]}, "size is 0 in row with id b"),
        ({"access": ["x", "y", "z"]}, "column 'access' holds something else than numbers"),
    ],
)
def test_bad_frames(spark: SparkSession, columns: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"id": ["a", "b", "c"], "change_rate": [1.0, 1.0, 1.0], "access": [1.0, 1.0, 1.0]}
    with pytest.raises(HeadgateError) as caught:
        plan_frame(frame_of(spark, **{**usual, **columns}), 1.0)
    assert message in str(caught.value)


def test_a_column_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(HeadgateError, match="unknown column 'access'"):
        plan_frame(frame_of(spark, id=["a"], change_rate=[1.0]), 1.0)


def test_profiles_on_spark(spark: SparkSession) -> None:
    rng = np.random.default_rng(1)
    user, element = rng.integers(0, 20, 3_000), rng.integers(0, 100, 3_000)
    weight = {each: float(each % 3) for each in range(20)}
    log = frame_of(spark, user=user, id=element)
    weights = frame_of(spark, user=list(weight), weight=list(weight.values()))
    for per_user in (False, True):
        expected = master_profile(user.tolist(), element.tolist(), weights=weight, per_user=per_user)
        found = profile_frame(log, weights, per_user=per_user).collect()
        assert {row["id"]: row["access"] for row in found} == pytest.approx(expected)


def test_rates_on_spark(spark: SparkSession) -> None:
    rng = np.random.default_rng(2)
    element = rng.integers(0, 50, 2_000)
    at = rng.random(2_000) * 1_000_000
    changed = rng.random(2_000) < 0.4
    frame = frame_of(spark, id=element, at=at, changed=changed)
    found = rates_frame(frame, period=86_400.0).toArrow().sort_by("id")
    order = np.lexsort((at, element))
    same = np.diff(element[order]) == 0
    gaps = (np.diff(at[order]) / 86_400.0)[same]
    expected = estimate(Histories.of(element[order][1:][same], gaps, changed[order][1:][same]))
    for name, column in (("change_rate", expected.rate), ("low", expected.low), ("high", expected.high)):
        np.testing.assert_allclose(found.column(name).to_numpy(), column, rtol=1e-9)


def test_timestamps_are_read(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 'a' AS id, make_timestamp(2026, 1, 1 + n, 0, 0, 0) AS at, n % 2 = 0 AS changed "
        "FROM (SELECT explode(sequence(0, 10)) AS n)"
    )
    row = rates_frame(frame, period=86_400.0).collect()[0]
    assert row["visits"] == 10
    assert row["change_rate"] == pytest.approx(-np.log(5.5 / 10.5))
