"""Writes the tables and pictures of docs/benchmarks.md and the README from what the benchmarks printed.

python benchmarks/many_queries.py --json > out/many.json
python benchmarks/throughput.py --json > out/throughput.json
python benchmarks/report.py out/many.json out/throughput.json

Without files it only draws the picture of the README again, from the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pyarrow as pa
import pyspark

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "pictures" / "benchmarks.png"
FRONT = ROOT / "docs" / "pictures" / "latencies.png"
GENERATED = re.compile(r"(<!-- generated -->\n).*?(<!-- end -->)", re.DOTALL)
SIDES = {
    "ss": "Structured Streaming, a query each",
    "fan-out": "one, `foreachBatch` fan-out",
    "by-hand": "one, fused by hand",
    "off": "Headgate, `fuse=off`",
    "class": "Headgate, `fuse=class`",
    "all": "Headgate, `fuse=all`",
}
SHOWN = {
    "ss": ("Structured Streaming, a query each", "#8c8c8c"),
    "by-hand": ("one Structured Streaming query, fused by hand", "#c9c9c9"),
    "class": ("Headgate", "#1f6f8b"),
}  # on the front page
Scenes = Mapping[str, Mapping[str, Mapping[str, Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="*", help="files with the JSON of many_queries and throughput")
    options = parser.parse_args()
    if options.results:
        write(options.results)
    draw_front(PAGE.read_text())
    print(f"wrote {FRONT.relative_to(ROOT)}")


def write(results: Sequence[Path]) -> None:
    scenes: dict[str, Any] = {}
    throughput: Mapping[str, Any] | None = None
    for path in results:
        found = json.loads(path.read_text())
        if "scenes" in found:
            scenes |= found["scenes"]
        else:
            throughput = found
    parts = [machine(), *(latency(name, sides) for name, sides in scenes.items() if "mean" in sides["ss"])]
    parts += [rates(name, sides) for name, sides in scenes.items() if "rate" in sides["ss"]]
    if throughput is not None:
        parts.append(share(throughput))
    text = "\n".join(parts)
    PAGE.write_text(GENERATED.sub(lambda match: f"{match[1]}\n{text}\n{match[2]}", PAGE.read_text()))
    draw(scenes)
    print(f"wrote {PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}")


def machine() -> str:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured on {os.cpu_count()} cores ({platform.machine()}, a virtual machine), {memory:.0f} GiB, {java}, "
        f"Python {platform.python_version()}, PySpark {pyspark.__version__}, PyArrow {pa.__version__}.\n"
    )


def latency(name: str, sides: Mapping[str, Mapping[str, Any]]) -> str:
    base = sides["ss"]["mean"]
    head = ["", "mean s", "p95 s", "times lower", "CPU s per million", "by class: mean (p95)"]
    lines = [f"### {name}\n", f"| {' | '.join(head)} |", "|---|--:|--:|--:|--:|---|"]
    for side, found in sides.items():
        if found["mean"] is None:
            lines.append(f"| {SIDES[side]} | no results | | | | |")
            continue
        classes = found["classes"]
        told = ", ".join(f"{key} {classes[key]:.2f} ({found['p95_classes'][key]:.2f})" for key in classes)
        ratio = f"{base / found['mean']:.1f}" if base else "–"
        cells = [f"{found['mean']:.3f}", f"{found['p95']:.3f}", ratio, f"{found['cpu_seconds_per_million']:.0f}"]
        lines.append(f"| {SIDES[side]} | {' | '.join(cells)} | {told if len(classes) > 1 else ''} |")
    return "\n".join([*lines, ""])


def rates(name: str, sides: Mapping[str, Mapping[str, Any]]) -> str:
    base = sides["ss"]["rate"]
    lines = [f"### {name[0].upper()}{name[1:]}\n", "| | rows per second | times as many |", "|---|--:|--:|"]
    for side, found in sides.items():
        ratio = f"{found['rate'] / base:.1f}" if base else "–"
        lines.append(f"| {SIDES[side]} | {found['rate']:,.0f} | {ratio} |")
    return "\n".join([*lines, ""])


def share(found: Mapping[str, Any]) -> str:
    return (
        f"### One long train\n\n{found['rows']:,} rows from sealed segments through {found['queries']} fused filters: "
        f"{found['headgate_s']:.1f} s; the same tagged query as one plain Spark batch: {found['spark_s']:.1f} s. "
        f"Headgate has {found['share']:.2f} of Spark's speed.\n"
    )


def draw(scenes: Scenes) -> None:
    """Mean latencies, a row of bars for each scene; on a logarithmic axis, as they lie far apart."""
    shown = {name: sides for name, sides in scenes.items() if sides["ss"].get("mean")}
    figure, axes = plt.subplots(1, len(shown), figsize=(3.2 * len(shown), 3.2), sharey=True, layout="constrained")
    for axis, (name, sides) in zip(axes if len(shown) > 1 else [axes], shown.items(), strict=True):
        means = {side: found["mean"] for side, found in sides.items() if found["mean"]}
        colours = ["#8c8c8c" if side in ("ss", "fan-out", "by-hand") else "#1f6f8b" for side in means]
        bars = axis.bar(list(means), list(means.values()), color=colours)
        axis.bar_label(bars, fmt="%.2f", fontsize=8)
        axis.set_yscale("log")
        axis.set_title(name, fontsize=9)
        axis.tick_params(axis="x", labelrotation=60, labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supylabel("mean latency, seconds", fontsize=9)
    figure.savefig(PICTURE, dpi=110)


def draw_front(page: str) -> None:
    """Mean latencies of 5, 20 and 50 filters, from the page's own tables, with as few bars as tell the story."""
    scenes = {number: means(page, f"{number} filters") for number in (5, 20, 50)}
    figure, axis = plt.subplots(figsize=(7.6, 2.2), layout="constrained")
    for place, (side, (label, colour)) in enumerate(SHOWN.items()):
        heights = [scene[SIDES[side]] for scene in scenes.values()]
        bars = axis.bar([at + 0.27 * (place - 1) for at in range(3)], heights, 0.25, label=label, color=colour)
        axis.bar_label(bars, [f"{height:.2g} s" for height in heights], fontsize=9, padding=1)
    axis.set_yscale("log")
    axis.set_ylim(0.02, 300)
    axis.set_ylabel("mean latency (log)", fontsize=9)
    axis.set_yticks([0.1, 1, 10], ["0.1 s", "1 s", "10 s"])
    axis.minorticks_off()
    axis.set_xticks(range(3), [f"{number} queries" for number in scenes], fontsize=10)
    axis.tick_params(axis="x", length=0)
    axis.legend(loc="upper left", fontsize=8, frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(FRONT, dpi=110)


def means(page: str, scene: str) -> dict[str, float]:
    """The mean latency of each side, from the table of one scene."""
    table = page.partition(f"### {scene}\n")[2].partition("###")[0]
    return {side.strip(): float(mean) for side, mean in re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", table, re.MULTILINE)}


if __name__ == "__main__":
    main()
