"""Pictures, looked at as figures: what is drawn where, in which order, colour and scale."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from tests.metrics.builders import query, random_records

from headgate.metrics import MEASURES, Measure, Records, measure_at
from headgate.metrics.measures.confidence import Band
from headgate.metrics.pictures import curves, ranking
from headgate.metrics.pictures.curves import Curve, Labels
from headgate.metrics.pictures.end_labels import spread
from headgate.metrics.pictures.panels import MAX_BINS, panels
from headgate.metrics.pictures.ranking import Ranking
from headgate.metrics.pictures.response_times import compose, draw
from headgate.metrics.pictures.scales import ResponseScale, logarithmic
from headgate.metrics.pictures.style import COLOURS, GREY
from headgate.model import HeadgateError


@pytest.mark.slow
@pytest.mark.parametrize(("policies", "classes"), [(1, 1), (2, 3), (5, 5), (12, 9)])
def test_a_picture_is_written(tmp_path: Path, policies: int, classes: int) -> None:
    runs = {f"policy-{number}": random_records(number, 900, classes) for number in range(policies)}
    draw(runs, tmp_path / "p.png", workload="sensors")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "p.png").stat().st_size > 20_000


@pytest.mark.parametrize(("suffix", "magic"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")])
def test_formats(tmp_path: Path, suffix: str, magic: bytes) -> None:
    draw({"hnr": random_records(1, 90)}, tmp_path / f"p.{suffix}")
    assert (tmp_path / f"p.{suffix}").read_bytes().startswith(magic)


@pytest.mark.parametrize("name", ["p.gif", "p"])
def test_unknown_format_names_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(HeadgateError, match="png, svg, pdf"):
        draw({}, tmp_path / name)


def test_a_path_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="cannot write the picture"):
        draw({"hnr": random_records(1, 90)}, tmp_path / "none" / "p.png")


@pytest.mark.parametrize(
    "runs",
    [
        {},
        {"hnr": Records([], {"a": 1.0})},
        {"hr": Records([query("q", [(0.0, 0.0)])], {"only": 1.0}), "hnr": Records([], {"other": 2.0})},
        {"hr": Records([query("q", [(0.0, 1.0)], "$1_{")], {"$1_{": 1.0})},
    ],
)
def test_next_to_nothing_is_drawn(tmp_path: Path, runs: dict[str, Records]) -> None:
    draw(runs, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 5_000
    ranking.draw(Ranking("w", MEASURES["slowdown.mean"], dict.fromkeys(runs)), runs, tmp_path / "r.png")
    assert (tmp_path / "r.png").stat().st_size > 5_000


def test_scale_is_logarithmic_only_over_more_than_a_decade() -> None:
    near = {"hr": Records([query("q", [(0.0, 0.1), (0.0, 1.0)])], {"only": 1.0})}
    far = {"hr": Records([query("q", [(0.0, 0.001), (0.0, 10.0)])], {"only": 1.0})}
    assert compose(near, "", 0.1).axes[0].get_yscale() == "linear"
    assert compose(far, "", 0.1).axes[0].get_yscale() == "log"
    assert not logarithmic([1.0, 20.0])
    assert logarithmic([0.0, 1.0, 20.1, float("inf")])


def test_small_multiples_show_every_class_in_full() -> None:
    figure = compose({"hr": random_records(1, 300, classes=4)}, "", 0.1)
    low, high = figure.axes[1].get_ylim()
    for ax in figure.axes[1:]:
        assert ax.get_ylim() == (low, high)
        assert all(low <= min(_ys(line)) and max(_ys(line)) <= high for line in ax.lines)


def test_lines_have_few_points_and_classes_fall_in_priority() -> None:
    shown = panels({"hr": random_records(1, 30_000, classes=9)}, 0.01, at_most=8)
    assert [panel.name for panel in shown] == [f"class-{number}" for number in range(8)]
    assert all(len(line.time) <= MAX_BINS for panel in shown for line in panel.lines.values())


def test_units() -> None:
    assert [ResponseScale.of([value]).unit for value in (3.0, 0.3, 0.0003)] == ["s", "ms", "µs"]


# A ranking


def ranked(values: Mapping[str, float | None], path: str = "slowdown.mean") -> Figure:
    runs = {policy: random_records(number, 60) for number, policy in enumerate(values)}
    return ranking.compose(Ranking("sensors", measure_at(path), values), runs, 0.1)


def test_bars_show_the_measure_in_the_order_of_rank() -> None:
    values = {"hnr": 2.5, "hr": 4.0, "a policy, with=settings": 10.0}
    ax = ranked(values).axes[0]
    assert [bar.get_width() for bar in _bars(ax)] == [2.5, 4.0, 10.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(values)
    assert [text.get_text() for text in ax.texts] == ["2.5", "4", "10"]
    low, high = ax.get_ylim()
    assert low > high  # the first is on top
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "mean slowdown")


def test_bars_of_times_have_a_unit_and_far_ones_go_by_decades() -> None:
    ax = ranked({"a": 0.002, "b": 0.5, "c": 0.0}, "classes.critical.response_time.p95").axes[0]
    assert ax.get_xlabel() == "95th percentile of response time, class critical (ms, logarithmic)"
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.texts] == ["2 ms", "500 ms", "0 ms"]
    low, high = ax.get_xlim()
    assert 0 < low < 2
    assert high > 500


def test_of_many_policies_the_best_three_are_in_colour_and_the_rest_grey() -> None:
    figure = ranked({f"p{number}": 1.0 + number for number in range(34)})
    expected = [colour.lower() for colour in COLOURS[:3]] + [GREY.lower()] * 31
    assert [to_hex(bar.get_facecolor()) for bar in _bars(figure.axes[0])] == expected
    for ax in figure.axes[1:]:
        assert [to_hex(line.get_color()) for line in ax.lines] == expected
        assert min(line.zorder for line in ax.lines[:3]) > max(line.zorder for line in ax.lines[3:])


def test_a_ranking_grows_with_its_policies() -> None:
    few, many = (ranked({f"p{number}": 1.0 for number in range(count)}) for count in (5, 34))
    assert many.get_figheight() - few.get_figheight() == pytest.approx(29 * ranking.ROW)


def test_a_policy_without_a_value_is_named_and_never_in_colour() -> None:
    ax = ranked({"hr": 2.0, "rr": None, "fcfs": float("nan")}).axes[0]
    assert [text.get_text() for text in ax.texts] == ["2", "no value", "no value"]
    assert [to_hex(bar.get_facecolor()) for bar in _bars(ax)][1:] == [GREY.lower()] * 2


@pytest.mark.parametrize("value", [0.0, None])
def test_bars_without_any_length(value: float | None) -> None:
    figure = ranked({"hr": value, "hnr": value})
    figure.draw_without_rendering()
    assert figure.axes[0].get_xscale() == "linear"


# Curves


def curve(*means: float, half: float = 0.0) -> Curve:
    return [(0.5 + 0.1 * number, Band(mean, half)) for number, mean in enumerate(means)]


def drawn(lines: dict[str, Curve], measure: Measure = MEASURES["slowdown.mean"], **labels: Any) -> Axes:
    figure = curves.compose(lines, Labels("title", "load", measure, **labels))
    figure.draw_without_rendering()
    return figure.axes[0]


def test_curves_go_by_decades_where_values_spread() -> None:
    assert drawn({"hr": curve(1.0, 10.0)}).get_yscale() == "linear"
    far = drawn({"hr": curve(1.0, 500.0)})
    assert (far.get_yscale(), far.get_ylabel()) == ("log", "mean slowdown (logarithmic)")
    with_zero = drawn({"hr": curve(0.0, 1.0, 500.0)})
    assert (with_zero.get_yscale(), with_zero.get_ylim()[0]) == ("symlog", 0.0)
    assert drawn({"hr": curve(1.0, 500.0)}, decades=False).get_yscale() == "linear"


def test_curves_of_times_are_in_the_unit_of_the_largest() -> None:
    ax = drawn({"hr": curve(0.002, 0.02)}, MEASURES["response_time.p50"])
    assert ax.get_ylabel() == "median response time (ms)"
    assert _ys(ax.lines[0]) == pytest.approx([2.0, 20.0])


def test_every_curve_is_named_at_its_end_in_their_order() -> None:
    names = drawn({"low": curve(5.0, 1.0), "high": curve(1.0, 9.0), "middle": curve(3.0, 8.9)}).texts
    heights = {text.get_text(): text.get_position()[1] for text in names}
    assert heights["low"] < heights["middle"] < heights["high"]
    assert heights["high"] - heights["middle"] > 0.03  # though their ends are closer


def test_a_few_curves_differ_in_colour_marker_and_dashes() -> None:
    lines = drawn({policy: curve(1.0, 2.0) for policy in "abcd"}).lines
    for attribute in ("color", "marker", "linestyle"):
        assert len({getattr(line, f"get_{attribute}")() for line in lines}) == 4


@pytest.mark.parametrize(("path", "best"), [("slowdown.mean", range(5)), ("qos.mean", range(15, 20))])
def test_of_many_curves_the_best_are_in_colour(path: str, best: range) -> None:
    many = {f"p{number}": curve(1.0 + number, 2.0 + number, half=0.5) for number in range(20)}
    styles = curves.curve_styles(many, smaller_is_better=MEASURES[path].smaller_is_better)
    assert [policy for policy, look in styles.items() if look.strong] == [f"p{number}" for number in best]
    assert len(drawn(many, MEASURES[path], runs=3).collections) == 5  # bands of those only


def test_bands_have_edges_and_keep_off_zero() -> None:
    ax = drawn({"hr": curve(1.0, 500.0, half=50.0)}, runs=3)
    line, low, high = (_ys(each) for each in ax.lines)
    assert line == [1.0, 500.0]
    assert low == pytest.approx([0.01, 450.0])
    assert high == pytest.approx([51.0, 550.0])
    assert ax.get_ylim()[0] > 0.5
    assert ax.get_title("left") == "mean of 3 seeds with its 95 % confidence interval"


def test_named_values_of_a_setting_stand_side_by_side_with_bars() -> None:
    named: Curve = [("log", Band(1.0, 0.5)), ("uniform", Band(2.0, 0.5))]
    ax = drawn({"bsd": named, "hnr": named}, runs=3)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["log", "uniform"]
    assert len(ax.containers) == 2
    places = [float(each.get_xdata()[0]) for each in _lines(ax) if each.get_linestyle() != "None"]
    assert places == pytest.approx([-0.025, 0.025])


def test_values_far_apart_go_by_decades_and_close_ones_share_ticks() -> None:
    far: Curve = [(cores, Band(1.0, 0.0)) for cores in (1, 2, 4, 64)]
    ax = drawn({"hr": far})
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "load, logarithmic")
    assert ax.get_xticks().tolist() == [1, 2, 4, 64]
    close: Curve = [(place, Band(1.0, 0.0)) for place in (1.0, 1.01, 2.0)]
    assert 1.01 not in drawn({"hr": close}).get_xticks()


@pytest.mark.parametrize("lines", [{}, {"hr": curve(0.0, 0.0)}, {"hr": curve(3.0, half=1.0)}])
def test_next_to_no_curves_are_drawn(tmp_path: Path, lines: dict[str, Curve]) -> None:
    curves.draw(lines, tmp_path / "p.png", Labels("title", "load", MEASURES["unfinished"], runs=2))
    assert (tmp_path / "p.png").stat().st_size > 5_000


def test_names_are_moved_apart_and_stay_inside() -> None:
    heights = spread([0.0, 0.0, 0.5, 1.0, 1.0], 0.1)
    assert heights == pytest.approx([0.1, 0.0, 0.5, 1.0, 0.9])
    assert spread([], 0.1) == []


def _bars(ax: Axes) -> Any:
    return ax.patches


def _lines(ax: Axes) -> Any:
    return ax.lines


def _ys(line: Any) -> list[float]:
    return [float(value) for value in line.get_ydata()]
