"""Times of any year: as text and back, and in columns of every type that Arrow has for them."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.display import pandas_frame
from headgate.model import times
from headgate.model.json_values import plain
from headgate.model.times import FIRST_MOMENT, LAST_MOMENT

DAY = 86_400_000_000  # microseconds
LONGS, INTS = (-(1 << 63), (1 << 63) - 1), (-(1 << 31), (1 << 31) - 1)  # the numbers that 64 and 32 bits hold
HIDDEN = 1 << 62  # below a null: but for nanoseconds in none of these years
SIZES = {"s": 1_000_000, "ms": 1_000, "us": 1}  # microseconds
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
ZONES = (None, "UTC", "+09:00")
LEAVES = (
    *(pa.date32(), pa.date64()),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ZONES),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
)
OF_RESULTS = (pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.time64("ns"))  # those that Spark gives
OTHERS = (pa.int64(), pa.bool_())


# -- a naive model ---------------------------------------------------------------------------------------------


def is_leaf(kind: pa.DataType) -> bool:
    """Whether a type is a time, and not a list or the like with times in it."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def is_long(kind: pa.DataType) -> bool:
    return not (pa.types.is_date32(kind) or pa.types.is_time32(kind))


def leaves(kind: pa.DataType, value: Any) -> Iterator[tuple[pa.DataType, int]]:
    """The times in a value, each with its type and as its number."""
    if value is None or kind in OTHERS:
        return
    if is_leaf(kind):
        yield kind, value
    elif pa.types.is_dictionary(kind):
        yield from leaves(kind.value_type, value)
    elif pa.types.is_map(kind):
        for key, item in value:
            yield from itertools.chain(leaves(kind.key_type, key), leaves(kind.item_type, item))
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(field.type, value[field.name])
    else:
        for element in value:
            yield from leaves(kind.value_type, element)


def is_outside(kind: pa.DataType, number: int) -> bool:
    """Whether a time lies outside the years 1 to 9999."""
    if pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return False
    size = DAY if pa.types.is_date32(kind) else 1_000 if pa.types.is_date64(kind) else SIZES[kind.unit]
    return not FIRST_MOMENT <= number * size <= LAST_MOMENT


def python_holds(kind: pa.DataType, number: int) -> bool:
    in_nanoseconds = (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns"
    return number % 1_000 == 0 if in_nanoseconds else not is_outside(kind, number)


def as_text(kind: pa.DataType, number: int) -> str:
    """A time as ISO 8601 text, computed with whole numbers alone."""
    if pa.types.is_date(kind):
        return date_text(number if pa.types.is_date32(kind) else number // 86_400_000, signed=is_outside(kind, number))
    unit = PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return clock_text(number, unit)
    ahead = 9 * 3_600 if kind.tz == "+09:00" and not is_outside(kind, number) else 0
    day, rest = divmod(number + ahead * unit, 86_400 * unit)
    end = "" if kind.tz is None else "+09:00" if ahead else "+00:00"
    return f"{date_text(day, signed=is_outside(kind, number))}T{clock_text(rest, unit)}{end}"


def date_text(day: int, *, signed: bool) -> str:
    """A day since 1970 as text. The years begin in March here, so that a leap day is the last of its year."""
    era, of_era = divmod(day + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    year = year_of_era + 400 * era + (month >= 10)
    sign = "-" if year < 0 else "+" if signed else ""
    return f"{sign}{abs(year):04}-{(month + 2) % 12 + 1:02}-{of_year - (153 * month + 2) // 5 + 1:02}"


def clock_text(number: int, unit: int) -> str:
    """A time of day with no, six or nine digits behind the second."""
    seconds, rest = divmod(number, unit)
    nanoseconds = rest * (1_000_000_000 // unit)
    text = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if not nanoseconds:
        return text
    return f"{text}.{nanoseconds:09}" if nanoseconds % 1_000 else f"{text}.{nanoseconds // 1_000:06}"


def shown(kind: pa.DataType, value: Any) -> Any:
    """A value as JSON shows it."""
    if value is None or kind in OTHERS:
        return value
    if is_leaf(kind):
        return as_text(kind, value)
    if pa.types.is_dictionary(kind):
        return shown(kind.value_type, value)
    if pa.types.is_map(kind):
        return [[shown(kind.key_type, key), shown(kind.item_type, item)] for key, item in value]
    if pa.types.is_struct(kind):
        return {field.name: shown(field.type, value[field.name]) for field in kind}
    return [shown(kind.value_type, element) for element in value]


# -- columns of any type ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A column, and its values with numbers in place of times."""

    column: Any
    values: list[Any]

    @property
    def kind(self) -> pa.DataType:
        return self.column.type


def array_of(kind: pa.DataType, numbers: list[Any]) -> pa.Array:
    """The array of values with numbers in place of times; below a null of a struct there are other times."""
    if kind in OTHERS:
        return pa.array(numbers, kind)
    if is_leaf(kind):
        return pa.array(numbers, pa.int64() if is_long(kind) else pa.int32()).view(kind)
    if pa.types.is_dictionary(kind):
        return array_of(kind.value_type, numbers).dictionary_encode()
    if pa.types.is_struct(kind):
        parts = [array_of(field.type, [below(field, value) for value in numbers]) for field in kind]
        return pa.StructArray.from_arrays(
            parts, fields=list(kind), mask=pa.array([value is None for value in numbers], pa.bool_())
        )
    ends = list(itertools.accumulate((len(value or ()) for value in numbers), initial=0))
    begins = [None if value is None else begin for value, begin in zip(numbers, ends[:-1], strict=True)]
    elements = [element for value in numbers for element in value or ()]
    large = pa.types.is_large_list(kind)
    offsets = pa.array([*begins, ends[-1]], pa.int64() if large else pa.int32())
    if pa.types.is_map(kind):
        keys, items = [key for key, _ in elements], [item for _, item in elements]
        return pa.MapArray.from_arrays(offsets, array_of(kind.key_type, keys), array_of(kind.item_type, items))
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(offsets, array_of(kind.value_type, elements))


def below(field: pa.Field, value: dict[str, Any] | None) -> Any:
    """A field of a struct; that of a null one is a time of another year, which nobody must see."""
    if value is not None:
        return value[field.name]
    return HIDDEN if is_leaf(field.type) and is_long(field.type) and not pa.types.is_time(field.type) else None


def wrapped(leaf: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    """Types with times in them, up to three deep."""
    keys = leaf | st.just(pa.int64())
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(pa.list_),
            inner.map(pa.large_list),
            st.tuples(inner, st.sampled_from(OTHERS)).map(lambda pair: pa.struct([("a", pair[0]), ("b", pair[1])])),
            st.tuples(inner, inner).map(lambda pair: pa.struct([("a", pair[0]), ("b", pair[1])])),
            st.tuples(keys, inner).map(lambda pair: pa.map_(*pair)),
            leaf.map(lambda kind: pa.map_(kind, pa.int64())),
        ),
        max_leaves=3,
    )


def numbers_of(kind: pa.DataType) -> st.SearchStrategy[int]:
    """The numbers of a time, many of them near the ends of the years 1 to 9999 or of what the type holds."""
    if pa.types.is_time(kind):
        whole = {"s": 86_400, "ms": 86_400_000, "us": DAY, "ns": DAY * 1_000}[kind.unit]
        return st.integers(0, whole - 1) | st.integers(0, 86_399).map(lambda second: second * (whole // 86_400))
    low, high = LONGS if is_long(kind) else INTS
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        day = 86_400 * 10**9  # a zone and the cut to microseconds go no further
        return st.integers(low + day, high - day) | st.integers(-(10**9), 10**9).map(lambda number: number * 1_000)
    size = DAY if pa.types.is_date32(kind) else 1_000 if pa.types.is_date64(kind) else SIZES[kind.unit]
    margin = DAY // size if pa.types.is_timestamp(kind) and kind.tz == "+09:00" else 0
    first, last = FIRST_MOMENT // size, LAST_MOMENT // size
    usual = st.integers(first + margin, last - margin)
    edges = [low, first - 1, first + margin, 0, -1, last - margin, last + 1, high]
    return usual | usual | st.sampled_from(edges) | st.integers(low, first - 1) | st.integers(last + 1, high)


def values_of(kind: pa.DataType, *, null: bool = True) -> st.SearchStrategy[Any]:
    """Values with numbers in place of times."""
    if pa.types.is_dictionary(kind):
        return values_of(kind.value_type)
    if is_leaf(kind):
        found: st.SearchStrategy[Any] = numbers_of(kind)
    elif kind in OTHERS:
        found = st.booleans() if pa.types.is_boolean(kind) else st.integers(*LONGS)
    elif pa.types.is_map(kind):
        found = st.lists(st.tuples(values_of(kind.key_type, null=False), values_of(kind.item_type)), max_size=2)
    elif pa.types.is_struct(kind):
        found = st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    else:
        found = st.lists(values_of(kind.value_type), max_size=2)
    return st.none() | found | found | found if null else found


@st.composite
def columns(draw: st.DrawFn, leaf: tuple[pa.DataType, ...] = LEAVES, rows: int | None = None) -> Drawn:
    """A column of any type, cut out of a longer one, as a whole or in chunks, of which one has no rows."""
    kinds = st.sampled_from(leaf)
    in_dictionary = kinds.map(lambda kind: pa.dictionary(pa.int32(), kind))
    kind = draw(st.one_of(kinds, wrapped(kinds), wrapped(kinds), *([in_dictionary] if leaf == LEAVES else [])))
    size = draw(st.integers(0, 5)) if rows is None else rows
    values = draw(st.lists(values_of(kind), min_size=size, max_size=size))
    before, after = (draw(st.lists(values_of(kind), max_size=2)) for _ in "ab")
    column = array_of(kind, [*before, *values, *after]).slice(len(before), size)
    if draw(st.booleans()):
        cut = draw(st.integers(0, size))
        column = pa.chunked_array([column.slice(0, cut), column.slice(cut, 0), column.slice(cut)], kind)
    return Drawn(column, values)


# -- text and back ---------------------------------------------------------------------------------------------


def in_microseconds(found: datetime.datetime | int) -> int:
    return found if isinstance(found, int) else times.microseconds(found)


def in_days(found: datetime.date | int) -> int:
    return found if isinstance(found, int) else (found - datetime.date(1970, 1, 1)).days


@given(number=st.integers(*LONGS))
@example(number=FIRST_MOMENT)
@example(number=FIRST_MOMENT - 1)
@example(number=LAST_MOMENT)
@example(number=LAST_MOMENT + 1)
@example(number=LONGS[0])
@example(number=LONGS[1])
def test_a_moment_is_its_text_and_back(number: int) -> None:
    text = times.iso(number)
    assert text == f"{date_text(number // DAY, signed=True)}T{clock_text(number % DAY, 1_000_000)}+00:00"
    assert in_microseconds(times.moment(text)) == number
    bare = times.iso(number, zone=False)
    assert bare + "+00:00" == text
    assert in_microseconds(times.moment(bare)) == number


@given(number=st.integers(*INTS))
@example(number=INTS[0])
@example(number=INTS[1])
@example(number=-719_162)
@example(number=-719_163)
@example(number=2_932_896)
@example(number=2_932_897)
def test_a_day_is_its_text_and_back(number: int) -> None:
    text = times.iso(number * DAY, day=True)
    assert text == date_text(number, signed=True)
    assert in_days(times.day(text)) == number


@given(number=st.integers(FIRST_MOMENT, LAST_MOMENT), hours=st.integers(-23, 23))
def test_python_s_own_texts_are_read_as_python_reads_them(number: int, hours: int) -> None:
    text = (times.EPOCH + times.MICROSECOND * number).isoformat()
    assert times.moment(text) == datetime.datetime.fromisoformat(text)
    assert times.day(text[:10]) == datetime.date.fromisoformat(text[:10])
    elsewhere = f"{text[:-6]}{hours:+03}:00"
    assert in_microseconds(times.moment(elsewhere)) == number - hours * 3_600_000_000


@given(number=st.integers(0, DAY * 1_000 - 1))
@example(number=0)
@example(number=1)
@example(number=DAY * 1_000 - 1)
def test_a_time_of_day_is_its_text_and_back(number: int) -> None:
    text = plain(times.values(pa.array([number], pa.time64("ns")))[0])
    assert text == as_text(pa.time64("ns"), number)
    found = times.clock(text)
    assert found == number if number % 1_000 else found == datetime.time.fromisoformat(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "noon", "+", "+2026", "2026-13-01", "12026-02-30", "12026-1-1", "12025-02-29", "1e5-01-01"),
        *("+12026-01-01T25:00:00", "-0001-02-29", "12026-W01-1", "--2026-01-01", "٢٠٢٦-01-01", "99999999999-01-01"),
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    for read in (times.moment, times.day):
        with pytest.raises(ValueError, match=r"no time|month|day|hour|isoformat|ISO"):
            read(text)


@given(text=st.text(max_size=30) | st.from_regex(r"[+-]?[0-9]{1,11}-[0-9]{1,2}-[0-9]{1,2}(T[0-9:.+Z-]*)?"))
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    for read in (times.moment, times.day, times.clock):
        try:
            read(text)
        except ValueError:
            continue


# -- columns ---------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(drawn=columns())
def test_values_are_python_s_where_it_has_them_and_else_text(drawn: Drawn) -> None:
    found = times.values(drawn.column)
    assert [plain(value) for value in found] == [shown(drawn.kind, value) for value in drawn.values]
    for place, (value, numbers) in enumerate(zip(found, drawn.values, strict=True)):
        if all(python_holds(*leaf) for leaf in leaves(drawn.kind, numbers)):
            assert repr(value) == repr(drawn.column.slice(place, 1).to_pylist()[0])


@settings(max_examples=150)
@given(drawn=columns())
def test_the_values_outside_the_years_are_found(drawn: Drawn) -> None:
    outside = [
        place
        for place, value in enumerate(drawn.values)
        if any(is_outside(*leaf) for leaf in leaves(drawn.kind, value))
    ]
    assert times.outside_years(drawn.column) == outside
    assert times.within_years(drawn.column) == (not outside)


@settings(max_examples=80)
@given(data=st.data(), size=st.integers(0, 4))
def test_rows_have_the_values_of_their_columns(data: st.DataObject, size: int) -> None:
    drawn = [data.draw(columns(rows=size)) for _ in range(2)]
    table = pa.table({"a": drawn[0].column, "id": pa.array(range(size)), "b": drawn[1].column})
    expected = [
        {"a": first, "id": place, "b": second}
        for place, (first, second) in enumerate(zip(*(times.values(one.column) for one in drawn), strict=True))
    ]
    assert repr(times.rows(table)) == repr(expected)


@given(kind=wrapped(st.sampled_from(LEAVES)))
def test_types_with_times_in_them_are_known(kind: pa.DataType) -> None:
    within_a_day = {pa.time32("s"), pa.time32("ms")}  # Python has all of these
    other = pa.struct([("x", pa.map_(pa.string(), pa.list_(pa.decimal128(9, 2)))), ("y", pa.duration("us"))])
    assert not times.has_times(other)
    if is_leaf(kind):
        assert times.has_times(kind) == (kind not in within_a_day)
        assert times.has_times(pa.dictionary(pa.int8(), kind)) == (kind not in within_a_day)
    if times.has_times(kind):
        assert times.has_times(pa.list_(pa.struct([("x", other), ("y", kind)])))


def test_no_rows_and_no_columns() -> None:
    assert times.rows(pa.table({})) == []
    assert times.rows(pa.table({"at": pa.chunked_array([], pa.list_(pa.date32()))})) == []
    assert times.values(pa.chunked_array([], pa.map_(pa.date32(), pa.timestamp("us")))) == []


def test_what_is_below_a_null_or_cut_off_does_not_count() -> None:
    mask = pa.array([False, True, False])
    far = pa.array([0, 30_000_000, 1], pa.date32())
    for column in (
        pa.StructArray.from_arrays([far], ["x"], mask=mask),
        pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), far, mask=mask),
        pa.ListArray.from_arrays(pa.array([0, 1, 1, 1], pa.int32()), far),
        pa.FixedSizeListArray.from_arrays(far, 1, mask=mask),
    ):
        assert times.within_years(column)
        assert times.values(column) == column.to_pylist()
        assert times.within_years(pa.chunked_array([column, column]))
    assert not times.within_years(pa.StructArray.from_arrays([far], ["x"]))


@pytest.mark.parametrize("moment", [FIRST_MOMENT, LAST_MOMENT])
@pytest.mark.parametrize("zone", ["-09:00", "+09:00"])
def test_a_zone_may_be_in_another_year(moment: int, zone: str) -> None:
    assert times.values(pa.array([moment], pa.timestamp("us", zone))) == [times.iso(moment)]


def test_dictionaries_in_other_types_and_the_smallest_number() -> None:
    days = pa.array([0, 30_000_000], pa.date32()).dictionary_encode()
    assert times.values(pa.StructArray.from_arrays([days], ["x"]))[1] == {"x": "+84107-03-19"}
    assert times.values(pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), days))[0][1] == "+84107-03-19"
    smallest = pa.array([-(1 << 63)], pa.timestamp("ns"))
    assert times.values(smallest) == ["1677-09-21T00:12:43.145224192"]


def test_a_frame_of_pandas_has_far_times_as_texts() -> None:
    pytest.importorskip("pandas")
    days = pa.array([0, 30_000_000], pa.date32())
    frame = pandas_frame(pa.table({"id": [1, 2], "day": days, "x": [0.5, 1.5]}))
    assert list(frame.columns) == ["id", "day", "x"]
    assert [str(day) for day in frame["day"]] == ["1970-01-01", "+84107-03-19"]
    assert frame["x"].sum() == 2.0


def test_times_of_day_end_before_midnight() -> None:
    for unit, day in (("us", 86_400_000_000), ("ns", 86_400_000_000_000)):
        assert times.outside_years(pa.array([-1, 0, day - 1, day], pa.time64(unit))) == [0, 3]
    with pytest.raises(ValueError, match="more than nanoseconds"):
        times.clock("00:00:00.1234567891")
