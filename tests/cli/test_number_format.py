from __future__ import annotations

import pytest

from headgate.cli.number_format import aligned, number, read_duration
from headgate.model.number_text import duration, significant, time_unit, with_margin


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (12.25e-3, "12.25 ms"), (1.5, "1.5 s"), (3e-7, "300 ns"), (42e-6, "42 µs"), (7200.0, "7200 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("values", "unit"),
    [([], "s"), ([None, 0.0], "s"), ([0.004, 2.0], "ms"), ([2.0, 90.0], "s"), ([1e-6, 1e-3], "µs"), ([1e-9, 1e4], "s")],
)
def test_a_column_has_one_unit(values: list[float | None], unit: str) -> None:
    assert time_unit(values)[0] == unit


def test_a_column_has_one_number_of_decimals() -> None:
    assert aligned([3.875, 2.9]) == ["3.875", "2.900"]
    assert aligned([0.001, 12345.6]) == ["0.00", "12,345.60"]
    assert aligned([0.0, None]) == ["0", "–"]


def test_numbers() -> None:
    assert [number(value) for value in (0.0, 45488.71, 4629630.0)] == ["0", "45488.7", "4,629,630"]


def test_reading_a_duration() -> None:
    assert read_duration("250 ms", "--duration") == 0.25


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (134.2, 302.4, "130 ± 300"),
        (134.2, 99.6, "134 ± 100"),
        (134.2, 0.0, "134.2"),
        (0.00012345, 0.0000021, "0.0001234 ± 0.0000021"),
        (1234567.0, 12345.0, "1,235,000 ± 12,000"),
        (-0.5, 0.25, "-0.50 ± 0.25"),
    ],
)
def test_a_mean_has_as_many_digits_as_its_margin_allows(mean: float, half: float, text: str) -> None:
    assert with_margin(mean, half) == text


def test_no_number_that_people_read_has_an_exponent() -> None:
    values = [0.0000123, 0.5, 302.4, 99999.9, 123456.0, 7.5e9]
    assert [significant(value, 3) for value in values] == [
        "0.0000123",
        "0.5",
        "302",
        "100000",
        "123,456",
        "7,500,000,000",
    ]
    assert duration(1234567.0) == "1,234,567 s"
