"""How latencies and rates grow with the number of queries and with the length of windows; ratios from one run.

    python -m benchmarks.growth --plot out/growth.png --json out/growth.json       an hour (`make growth`)
    python -m benchmarks.growth --part filters --filters 20 300 --seconds 15
    python -m benchmarks.growth --part windows --minutes 1 5 --fill 0.5

The parts, each system in a process of its own:

    filters  more and more filters in one class, 500 rows every 250 ms, each row wanted by about three: Headgate, a bare
             Spark job on the same rows, one Structured Streaming query fused by hand
    windows  longer and longer sliding windows: Headgate and Structured Streaming, rows per second
    start    a thousand queries of five forms, from the first call until all run
    life     the same queries at work: scheduling's share of the workers' time
    joins    steps of 2500 rows against 150 000 in the window, a query alone and a group of ten; not among the targets

What is compared exactly is in the modules `growth_…`. Below each table stand the targets and whether they are met.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from benchmarks import growth_filters, growth_joins, growth_lives, growth_windows
from benchmarks.many_queries import Setting

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
PARTS = ("filters", "windows", "start", "life", "joins")
LOOK = {
    "headgate": ("Headgate", "#1f6f8b", "o"),
    "bare": ("a bare Spark job", "#8c8c8c", ""),
    "by-hand": ("Structured Streaming, fused by hand", "#c08a3e", "s"),
    "structured": ("Structured Streaming", "#c08a3e", "s"),
}
OVER_BARE = {20: 1.0, 300: 2.0, 1000: 4.0}  # latency with so many filters over that of the bare job, at most
UNDER_BY_HAND = {1000: 3.0}  # times lower than fused by hand, at least
OVER_STREAMING = {1: 1.0, 5: 5.0, 30: 10.0}  # rows per second over Structured Streaming's by minutes, at least
FLAT = 1.3  # the rate at one minute over that at thirty, at most
START, SHARE = 20.0, 0.01
Found = dict[str, dict[str, Any]]  # by side, or by side and size


def measure(part: str, side: str, size: float, options: argparse.Namespace) -> dict[str, Any]:
    """One side of a part, in this process."""
    count = int(size)
    match part:
        case "filters":
            setting = Setting(options.warm_up, options.seconds, options.rows, options.every)
            return growth_filters.measure(side, count, options.shape, setting)
        case "windows":
            steps = growth_windows.Steps.of(size, options.step_rows, options.fill, options.warm_steps, options.steps)
            return {"headgate": growth_windows.headgate, "structured": growth_windows.structured}[side](size, steps)
        case "start":
            return growth_lives.measure(count, 0.0, 0.0)
        case "life":
            return growth_lives.measure(count, options.life, options.warm_up)
    return growth_joins.measure(count, options.old, options.new, options.keys, options.steps, options.warm_steps)


def apart(part: str, side: str, size: float) -> dict[str, Any]:
    """The same in a process of its own: none inherits another's warm code."""
    print(f"{part}: {side} {size:g} …", file=sys.stderr, end=" ", flush=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.growth", *sys.argv[1:], "--one", part, side, f"{size:g}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"\n{part}, {side}, {size:g}: {done.stderr[-2000:]}")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def filters(options: argparse.Namespace) -> Found:
    """The bare job is measured before and after all others, as the machine may be quicker at one time than another."""
    found = {"bare before": apart("filters", "bare", 1)}
    for count in options.filters:
        for side in ("headgate", "by-hand"):
            found[f"{side} {count}"] = apart("filters", side, count)
    found["bare after"] = apart("filters", "bare", 1)
    return found


def windows(options: argparse.Namespace) -> Found:
    return {
        f"{side} {minutes:g}": apart("windows", side, minutes)
        for minutes in options.minutes
        for side in ("headgate", "structured")
    }


def alone(part: str) -> Callable[[argparse.Namespace], Found]:
    return lambda options: {"headgate": apart(part, "headgate", options.queries)}


def joins(options: argparse.Namespace) -> Found:
    return {f"headgate {count}": apart("joins", "headgate", count) for count in (1, 10)}


MEASURED = {"filters": filters, "windows": windows, "start": alone("start"), "life": alone("life"), "joins": joins}


def bare_mean(found: Found) -> float:
    return float(found["bare before"]["mean"] + found["bare after"]["mean"]) / 2


def sizes(found: Found, side: str) -> dict[float, dict[str, Any]]:
    """What a side gave, by size."""
    own = {name.removeprefix(f"{side} "): each for name, each in found.items() if name.startswith(f"{side} ")}
    return {float(size): each for size, each in own.items()}


def tell(part: str, found: Found) -> None:
    """A table, and below it the targets."""
    print(f"\n{part}")
    {"filters": tell_filters, "windows": tell_windows, "joins": tell_joins}.get(part, tell_alone)(found)


def tell_filters(found: Found) -> None:
    bare, by_hand = bare_mean(found), sizes(found, "by-hand")
    print(f"{'':>18}{'mean s':>9}{'p95 s':>9}{'/ bare':>9}{'CPU s per million tuples × queries':>37}")
    for name, each in found.items():
        if each["mean"] is None:
            print(f"{name:>18}{'no results':>18}")
            continue
        cells = f"{each['mean']:>9.3f}{each['p95']:>9.3f}{each['mean'] / bare:>9.2f}"
        print(f"{name:>18}{cells}{each['cpu_seconds_per_million']:>37.2f}")
    own = {count: each for count, each in sizes(found, "headgate").items() if each["mean"]}
    for count, each in own.items():
        if count in OVER_BARE:
            target(f"{count:g} filters over the bare job", each["mean"] / bare, at_most=OVER_BARE[int(count)])
        if count in UNDER_BY_HAND and by_hand[count]["mean"]:
            ratio = by_hand[count]["mean"] / each["mean"]
            target(f"{count:g} filters, times lower than fused by hand", ratio, at_least=UNDER_BY_HAND[int(count)])


def tell_windows(found: Found) -> None:
    print(f"{'minutes':>9}{'Headgate rows/s':>18}{'Structured Streaming':>23}{'ratio':>8}")
    own, other = sizes(found, "headgate"), sizes(found, "structured")
    ratios = {minutes: own[minutes]["rate"] / other[minutes]["rate"] for minutes in own}
    for minutes, ratio in ratios.items():
        print(f"{minutes:>9g}{own[minutes]['rate']:>18,.0f}{other[minutes]['rate']:>23,.0f}{ratio:>8.2f}")
    for minutes, least in OVER_STREAMING.items():
        if minutes in ratios:
            target(f"windows of {minutes} min over Structured Streaming", ratios[minutes], at_least=least)
    if {1.0, 30.0} <= set(own):
        target("rate at 1 minute over that at 30", own[1.0]["rate"] / own[30.0]["rate"], at_most=FLAT)


def tell_alone(found: Found) -> None:
    each = found["headgate"]
    target(f"{each['queries']} queries running, seconds", each["start_s"], at_most=START)
    if "share" in each:
        print(f"  {each['runs']} runs, {each['micros_a_call']:.0f} µs a message")
        print(f"  all that the owner does: {each['owner_share']:.2%} of the workers' time")
        target("scheduling's share of the workers' time", each["share"], at_most=SHARE)


def tell_joins(found: Found) -> None:
    for name, each in found.items():
        print(f"{name:>14}  mean {each['mean']:.3f} s, median {each['median']:.3f} s a step, {each['results']} results")


def target(words: str, value: float, *, at_most: float | None = None, at_least: float | None = None) -> None:
    met = value <= at_most if at_most is not None else value >= (at_least or 0.0)
    wanted = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
    print(f"  {'met   ' if met else 'missed'}  {words}: {value:.3g} ({wanted})")


def draw(parts: Mapping[str, Found], path: Path) -> None:
    """Latency by number of filters, rows per second by length of window."""
    shown = [name for name in ("filters", "windows") if name in parts]
    figure, axes = plt.subplots(1, len(shown), figsize=(4.6 * len(shown), 2.9), layout="constrained", squeeze=False)
    for axis, name in zip(axes[0], shown, strict=True):
        {"filters": draw_filters, "windows": draw_windows}[name](axis, parts[name])
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=8, frameon=False, loc="best")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def draw_filters(axis: Axes, found: Found) -> None:
    for side in ("by-hand", "headgate"):
        line(axis, side, {count: each["mean"] for count, each in sizes(found, side).items() if each["mean"]})
    label, colour, _ = LOOK["bare"]
    axis.axhline(bare_mean(found), color=colour, linestyle="--", linewidth=1.2, label=label)
    counts = list(sizes(found, "headgate"))
    logarithmic(axis, counts, [f"{count:g}" for count in counts])
    seconds = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100]
    within = [each for each in seconds if axis.get_ylim()[0] <= each <= axis.get_ylim()[1]]
    axis.set_yticks(within, [f"{each:g} s" for each in within])
    axis.set_xlabel("queries over one stream", fontsize=9)
    axis.set_title("mean latency", fontsize=10, loc="left")


def draw_windows(axis: Axes, found: Found) -> None:
    for side in ("structured", "headgate"):
        line(axis, side, {minutes: each["rate"] for minutes, each in sizes(found, side).items()})
    minutes = list(sizes(found, "headgate"))
    logarithmic(axis, minutes, [f"{each:g} min" for each in minutes])
    rates = [1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]
    within = [each for each in rates if axis.get_ylim()[0] <= each <= axis.get_ylim()[1]]
    axis.set_yticks(within, [f"{each:,.0f}" for each in within])
    axis.set_xlabel("length of a window that slides by 5 s", fontsize=9)
    axis.set_title("rows per second", fontsize=10, loc="left")


def line(axis: Axes, side: str, points: Mapping[float, float]) -> None:
    label, colour, marker = LOOK[side]
    axis.plot(list(points), list(points.values()), color=colour, marker=marker, markersize=4, label=label)


def logarithmic(axis: Axes, places: Sequence[float], labels: Sequence[str]) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.set_ylim(low / 1.3, high * 1.6)
    axis.set_xticks(list(places), list(labels), fontsize=9)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be repeated")
    parser.add_argument("--json", type=Path, help="write everything there")
    parser.add_argument("--plot", type=Path, help="draw a picture of filters and windows")
    parser.add_argument("--drawn-from", type=Path, help="measure nothing: tell and draw what such a file says")
    parser.add_argument("--filters", type=int, nargs="+", default=[10, 20, 30, 100, 300, 1000])
    parser.add_argument("--shape", choices=growth_filters.SHAPES, default="range", help="of the filters")
    parser.add_argument("--warm-up", type=float, default=25.0, help="seconds that do not count")
    parser.add_argument("--seconds", type=float, default=30.0, help="seconds that are measured, for each side")
    parser.add_argument("--rows", type=int, default=500, help="of an append to the filters' stream")
    parser.add_argument("--every", type=float, default=0.25, help="seconds between those")
    parser.add_argument("--minutes", type=float, nargs="+", default=[1, 5, 30], help="lengths of windows")
    parser.add_argument("--step-rows", type=int, default=10_000, help="of 5 s of event time in the windows' stream")
    parser.add_argument("--fill", type=float, default=1.1, help="how often windows fill before anything counts")
    parser.add_argument("--steps", type=int, default=40, help="that are measured, of windows and joins")
    parser.add_argument("--warm-steps", type=int, default=20, help="before those, which do not count")
    parser.add_argument("--queries", type=int, default=1000, help="of start and life")
    parser.add_argument("--life", type=float, default=60.0, help="seconds of life")
    parser.add_argument("--old", type=int, default=150_000, help="rows in the window of a join")
    parser.add_argument("--new", type=int, default=2500, help="rows of a join's step")
    parser.add_argument("--keys", type=int, default=100_000, help="of joins")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parsed()
    if options.one:
        part, side, size = options.one
        print(json.dumps(measure(part, side, float(size), options)), flush=True)
        return
    if options.drawn_from:
        parts = json.loads(options.drawn_from.read_text())
        for part, found in parts.items():
            tell(part, found)
    else:
        parts = {}
        for part in options.part or PARTS:
            parts[part] = MEASURED[part](options)
            if options.json:  # after each part, so that an interrupted run leaves something
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(parts, indent=1))
            tell(part, parts[part])
    if options.plot:
        draw(parts, options.plot)


if __name__ == "__main__":
    main()
