"""Chapter 2 of Carney 2005, measured: table 2.1, figures 2.1, 2.3 and 2.5 to 2.11, published beside measured.

    python -m experiments.carney.freshness [--only 2.3]* [--objects 500000] [--json]

The document prints few numbers; what it says of its curves is checked instead. The large case takes a minute or two.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from experiments.carney.report import Result
from headgate.freshness import Elements, general_plan, plan
from headgate.freshness.curve import ratio_at_gain
from headgate.freshness.heuristics import Allocation, approximate
from headgate.freshness.setups import LARGE, Alignment, Setup

Figure = Callable[[], Result]
SEEDS = range(1, 6)
THETAS = (0.0, 0.4, 0.8, 1.2, 1.6)
KEYS = ("p", "lambda", "p/lambda", "pf")
TABLE = {  # accesses in fifteenths (or equal), and the published frequencies
    "P1": ((1, 1, 1, 1, 1), (1.15, 1.36, 1.35, 1.14, 0.00)),
    "P2": ((1, 2, 3, 4, 5), (0.33, 0.67, 1.00, 1.33, 1.67)),
    "P3": ((5, 4, 3, 2, 1), (1.68, 1.83, 1.49, 0.00, 0.00)),
}


def table_2_1() -> Result:
    found = Result("T2.1", "optimal frequencies, λ = 1…5, bandwidth 5", ("profile", "e1", "e2", "e3", "e4", "e5"))
    for name, (access, published) in TABLE.items():
        often = plan(Elements.of([1, 2, 3, 4, 5], access), 5).frequency
        away = float(np.abs(often - published).max())
        found.rows.append((name, *map(float, often)))
        found.claim(" ".join(f"{each:.2f}" for each in published), f"at most {away:.4f} away", away <= 0.01)
    return found


def figure_2_1() -> Result:
    found = Result("2.1", "frequency over change rate at p = μ/2, μ, 2μ", ("λ", "μ/2", "μ", "2μ"))
    shares, rates = np.array([0.5, 1.0, 2.0]), np.array([0.1, 0.3, 0.5, 0.8, 1.2, 1.6, 2.0])
    often = rates[:, None] / ratio_at_gain(rates[:, None] / shares)
    found.rows += [(float(rate), *map(float, row)) for rate, row in zip(rates, often, strict=True)]
    _, same, twice = often[list(rates).index(1.2)]
    found.claim("λ = 1.2 gets nothing at p = μ, much at 2μ", f"{same:.2f} and {twice:.2f}", same == 0 and twice > 0.5)
    rises = bool(np.all(np.diff(often, axis=1) >= 0))
    found.claim("more access, more bandwidth, at any λ", "rises with p in every row" if rises else "it does not", rises)
    return found


def figure_2_3() -> Result:
    columns = ("θ", *(f"{each} {kind}" for each in Alignment for kind in ("PF", "GF")))
    found = Result("2.3", "perceived freshness over skew, table 2.2", columns, chosen="means of 5 seeds")
    for theta in THETAS:
        row: list[float] = []
        for alignment in Alignment:
            setups = [Setup(theta=theta, changes=alignment, seed=seed) for seed in SEEDS]
            row.append(float(np.mean([plan(s.elements(), s.syncs).perceived_freshness for s in setups])))
            row.append(float(np.mean([general_plan(s.elements(), s.syncs).perceived_freshness for s in setups])))
        found.rows.append((theta, *row))
    numbers = np.array(found.rows, dtype=float)[:, 1:]
    ahead = numbers[:, 0::2] - numbers[:, 1::2]
    found.claim("PF and GF are equal at θ = 0", f"{np.abs(ahead[0]).max():.1e} apart", np.abs(ahead[0]).max() < 1e-9)
    growing = bool(np.all(np.diff(ahead, axis=0) > 0))
    gains = ", ".join(f"{each:.2f}" for each in ahead[-1])
    found.claim("PF's lead grows with skew", f"leads at θ = 1.6: {gains}", growing)
    found.claim("the lead is largest when aligned", f"leads at θ = 1.6: {gains}", ahead[-1].argmax() == 0)
    found.claim("GF approaches 0 when aligned", f"{numbers[-1, 1]:.3f} at θ = 1.6", numbers[-1, 1] < 0.02)
    return found


def figure_2_5() -> Result:
    found = Result(
        "2.5",
        "partitions, table 2.2",
        ("alignment", "partitions", *KEYS, "optimum"),
        chosen="θ = 1, means of 5 seeds",
    )
    spread = {}
    for alignment in (Alignment.SHUFFLED, Alignment.ALIGNED, Alignment.REVERSE):
        setups = [Setup(changes=alignment, seed=seed) for seed in SEEDS]
        best = float(np.mean([plan(s.elements(), s.syncs).perceived_freshness for s in setups]))
        for partitions in (10, 25, 50, 100, 250, 500):
            row = [by_partitions(setups, by, partitions) for by in KEYS]
            found.rows.append((str(alignment), partitions, *row, best))
            spread[alignment, partitions] = row
    last = max(abs(best - each) for _, partitions, *row, best in found.rows if partitions == 500 for each in row)  # type: ignore[operator]
    found.claim("more partitions come closer to the ideal", f"at 500: {last:.1e} away", last < 1e-6)
    shuffled = spread[Alignment.SHUFFLED, 50]
    text = ", ".join(f"{by} {share:.3f}" for by, share in zip(KEYS, shuffled, strict=True))
    found.claim("shuffled: λ is slowest", f"at 50: {text}", min(shuffled) == shuffled[1])
    for alignment in (Alignment.ALIGNED, Alignment.REVERSE):
        width = max(spread[alignment, 50]) - min(spread[alignment, 50])
        found.claim(f"{alignment}: little difference", f"{width:.3f} at 50", width < 0.05)
    return found


def by_partitions(setups: list[Setup], by: str, partitions: int) -> float:
    shares = [approximate(s.elements(), s.syncs, by=by, partitions=partitions).perceived_freshness for s in setups]
    return float(np.mean(shares))


def figure_2_6() -> Result:
    found = Result(
        "2.6", "partitions over skew, shuffled", ("θ", *KEYS, "optimum"), chosen="50 partitions, means of 5 seeds"
    )
    for theta in THETAS:
        setups = [Setup(theta=theta, seed=seed) for seed in SEEDS]
        best = float(np.mean([plan(s.elements(), s.syncs).perceived_freshness for s in setups]))
        found.rows.append((theta, *(by_partitions(setups, by, 50) for by in KEYS), best))
    numbers = np.array(found.rows, dtype=float)
    rising = bool(np.all(np.diff(numbers[:, 1:], axis=0) > 0))
    found.claim("freshness rises with θ for all", "in every column" if rising else "not in every column", rising)
    behind = numbers[-1, 5] - numbers[-1, 1:5]
    text = ", ".join(f"{by} {each:.3f}" for by, each in zip(KEYS, behind, strict=True))
    found.claim("λ falls behind as θ grows", f"below the optimum at θ = 1.6: {text}", behind.argmax() == 1)
    return found


def figure_2_7(large: Setup) -> Result:
    found = Result("2.7", f"the large case, {large.objects:,} objects", ("partitions", *KEYS, "optimum"))
    elements = large.elements()
    best = plan(elements, large.syncs).perceived_freshness
    for partitions in (20, 50, 100, 200, 300):
        shares = [approximate(elements, large.syncs, by=by, partitions=partitions).perceived_freshness for by in KEYS]
        found.rows.append((partitions, *shares, best))
    numbers = np.array(found.rows, dtype=float)
    at_100 = numbers[2, 1:5]
    text = ", ".join(f"{by} {each:.4f}" for by, each in zip(KEYS, at_100, strict=True))
    found.claim("PF is the clear winner", f"at 100: {text}", at_100.argmax() == 3)
    more = numbers[4, 4] - numbers[2, 4]
    found.claim("more than 100 partitions do not appreciably help", f"PF at 300: {more:+.4f}", more < 0.02)
    return found


def figure_2_8(large: Setup) -> Result:
    columns = ("partitions", "iterations", "freshness", "seconds")
    found = Result("2.8, 2.9", f"k-means after PF partitions, {large.objects:,} objects", columns)
    elements = large.elements()
    for partitions in (25, 50, 100):
        for iterations in (0, 1, 3, 5, 10):
            began = time.perf_counter()
            share = approximate(elements, large.syncs, partitions=partitions, iterations=iterations).perceived_freshness
            found.rows.append((partitions, iterations, share, round(time.perf_counter() - began, 2)))
    began = time.perf_counter()
    best = plan(elements, large.syncs).perceived_freshness
    found.rows.append(("exact", "–", best, round(time.perf_counter() - began, 2)))
    shares = {(row[0], row[1]): float(row[2]) for row in found.rows}  # type: ignore[arg-type]
    gains = shares[50, 3] - shares[50, 0], shares[100, 0] - shares[50, 0]
    text = f"3 iterations {gains[0]:+.4f}, twice the partitions {gains[1]:+.4f}"
    found.claim("very few iterations gain much", text, gains[0] > gains[1])
    found.claim(
        "a good solution is found first with 50 partitions and 10 iterations (62 s then)",
        f"{shares[50, 10]:.4f}, {shares[50, 10] / best:.1%} of the optimum",
        shares[50, 10] > 0.97 * best,
    )
    return found


def figure_2_10() -> Result:
    found = Result(
        "2.10",
        "sizes, no skew, change rates and sizes aligned",
        ("shape", "ignored", "respected", "its refreshes", "smallest", "largest of 20 draws"),
        chosen="the shape of the sizes is not printed; 20 draws",
    )
    aligned = Setup(theta=0.0, changes=Alignment.ALIGNED, sizes=Alignment.ALIGNED)
    for shape in (1.05, 1.1, 1.2, 1.5, 2.0):
        drawn = [replace(aligned, pareto=shape, seed=seed).elements() for seed in range(1, 21)]
        plans = [plan(elements, 250) for elements in drawn]
        blind = [plan(replace(elements, size=np.ones(len(elements))), 250) for elements in drawn]
        shares = [each.perceived_freshness for each in plans]
        ignored = float(np.mean([each.perceived_freshness for each in blind]))
        often = float(np.mean([each.frequency.sum() for each in plans]))
        found.rows.append((shape, ignored, float(np.mean(shares)), often, min(shares), max(shares)))
    ignored = float(found.rows[0][1])  # type: ignore[arg-type]
    found.claim("sizes ignored: 0.312", f"{ignored:.3f}", abs(ignored - 0.312) <= 0.01)
    means = ", ".join(f"{row[2]:.3f} at {row[0]}" for row in found.rows)
    found.claim("sizes respected: 0.586", f"means by shape {means}", None)
    more = all(float(row[3]) > 250 for row in found.rows)  # type: ignore[arg-type]
    found.claim("Pareto: more refreshes from the same bandwidth", "more than 250 at every shape", more)
    return found


def figure_2_11() -> Result:
    found = Result(
        "2.11",
        "FFA and FBA on PFS partitions; change rates and sizes reversed, access shuffled",
        ("partitions", "FFA", "FBA", "optimum"),
        chosen="table 2.2, θ = 1, Pareto shape 1.1, means of 5 seeds",
    )
    reversed_ = Setup(changes=Alignment.ALIGNED, sizes=Alignment.REVERSE, pareto=1.1, shuffled_access=True)
    drawn = [replace(reversed_, seed=seed).elements() for seed in SEEDS]
    best = float(np.mean([plan(elements, 250).perceived_freshness for elements in drawn]))
    for partitions in (10, 25, 50, 100, 250, 500):
        row = [
            float(
                np.mean(
                    [
                        approximate(e, 250, by="pfs", partitions=partitions, allocation=kind).perceived_freshness
                        for e in drawn
                    ]
                )
            )
            for kind in Allocation
        ]
        found.rows.append((partitions, *row, best))
    numbers = np.array(found.rows, dtype=float)
    ahead = numbers[:, 2] - numbers[:, 1]
    text = ", ".join(f"{each:+.4f}" for each in ahead)
    found.claim("FBA always outperforms FFA", f"FBA − FFA: {text}", bool(np.all(ahead[:-1] > 0)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="one of T2.1, 2.1, 2.3, 2.5, 2.6, 2.7, 2.8, 2.10, 2.11")
    parser.add_argument("--objects", type=int, default=LARGE.objects, help="of the large case")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    scale = asked.objects / LARGE.objects
    large = replace(LARGE, objects=asked.objects, updates=LARGE.updates * scale, syncs=LARGE.syncs * scale)
    experiments: dict[str, Figure] = {
        "T2.1": table_2_1,
        "2.1": figure_2_1,
        "2.3": figure_2_3,
        "2.5": figure_2_5,
        "2.6": figure_2_6,
        "2.7": lambda: figure_2_7(large),
        "2.8": lambda: figure_2_8(large),
        "2.10": figure_2_10,
        "2.11": figure_2_11,
    }
    unknown = set(asked.only or ()) - set(experiments)
    if unknown:
        parser.error(f"unknown figure {', '.join(sorted(unknown))}; known: {', '.join(experiments)}")
    found = [experiments[name]() for name in asked.only or experiments]
    if asked.json:
        print(json.dumps([asdict(each) for each in found], indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(each.text() for each in found))


if __name__ == "__main__":
    main()
