"""All policies on all documents' workloads, as a page.

    python -m experiments.compare_policies [--executions 8000] [--seeds 1] [--only sharaf] [--write]

Prints the page; `--write` puts it into docs/comparison.md with its picture. What is finished is kept in
out/comparison: the same command again, also after Ctrl-C, runs only what is missing.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from experiments.compare_policies.page import Circumstances, page
from experiments.compare_policies.picture import draw
from experiments.compare_policies.plan import plan
from experiments.compare_policies.ranking import outcome
from experiments.compare_policies.simulations import run_missing
from experiments.compare_policies.tightness import tightness
from headgate.sweep.finished_results import FinishedResults

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = DOCS / "comparison.md", DOCS / "pictures" / "comparison.png"


def main() -> None:
    """Run, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=float, default=8_000, help="about so often operators work in each run")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="only workloads whose names contain this")
    parser.add_argument("--master", default="local[*]", help="which Spark")
    parser.add_argument("--out", type=Path, default=Path("out/comparison"), help="where finished simulations are kept")
    parser.add_argument("--write", action="store_true", help=f"into docs/{PAGE.name}")
    given = parser.parse_args()
    cases = plan(given.executions, given.seeds, given.only)
    results = run_missing(cases, FinishedResults(given.out), given.master)
    outcomes = [outcome(case, results) for case in cases]
    about = Circumstances(
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"python -m experiments.compare_policies --executions {given.executions:.0f} --seeds {given.seeds} --write",
        given.seeds,
        given.executions,
    )
    text = page(outcomes, [tightness(cores) for cores in (1, 2, 4)], about, f"pictures/{PICTURE.name}")
    print(text)
    if given.write:
        draw(outcomes, PICTURE)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
