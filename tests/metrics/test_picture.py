from pathlib import Path

import pytest
from tests.metrics.builders import query, random_records

from headgate.metrics import Records
from headgate.metrics.pictures.comparison import compose, draw
from headgate.metrics.pictures.panels import MAX_BINS, panels, unit
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


def test_scale_is_logarithmic_only_over_two_decades() -> None:
    near = {"hr": Records([query("q", [(0.0, 0.1), (0.0, 1.0)])], {"only": 1.0})}
    far = {"hr": Records([query("q", [(0.0, 0.001), (0.0, 10.0)])], {"only": 1.0})}
    assert compose(near, "", 0.1).axes[0].get_yscale() == "linear"
    assert compose(far, "", 0.1).axes[0].get_yscale() == "log"


def test_small_multiples_show_every_class_in_full() -> None:
    figure = compose({"hr": random_records(1, 300, classes=4)}, "", 0.1)
    low, high = figure.axes[1].get_ylim()
    for ax in figure.axes[1:]:
        assert ax.get_ylim() == (low, high)
        assert all(low <= line.get_ydata().min() and line.get_ydata().max() <= high for line in ax.lines)  # type: ignore[union-attr]


def test_lines_have_few_points_and_classes_fall_in_priority() -> None:
    shown = panels({"hr": random_records(1, 30_000, classes=9)}, 0.01, at_most=8)
    assert [panel.name for panel in shown] == [f"class-{number}" for number in range(8)]
    assert all(len(line.time) <= MAX_BINS for panel in shown for line in panel.lines.values())


def test_units() -> None:
    assert [unit([value])[0] for value in (3.0, 0.3, 0.0003, 1e-9)] == ["s", "ms", "µs", "µs"]
