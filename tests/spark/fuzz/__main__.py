"""Random cases against the engine's promise: results equal the same SQL as one batch, whatever is done.

python -m tests.spark.fuzz --minutes 60 --seed 1 --kills      as long as one likes
python -m tests.spark.fuzz --seed 1 --case 7                  one case again, made small if it fails
python -m tests.spark.fuzz --file out/fuzz/seed-1-case-7.json a case that was kept
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.spark.fuzz import features
from tests.spark.fuzz.campaign import Campaign
from tests.spark.fuzz.case import Case
from tests.spark.fuzz.worker import (
    AnyCase,
    Plan,
    live,
    play,
    read_case,
    script_of,
    smallest,
    spark_session,
    watch,
    work,
)

ENDLESS = 1 << 40


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--cases", type=int, default=ENDLESS, help="so many at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="this one only")
    parser.add_argument("--file", type=Path, help="a case that was kept")
    parser.add_argument("--kills", action="store_true", help="some cases are killed in between (slower)")
    parser.add_argument("--on", default="", help='features that are left out else, or "all"')
    parser.add_argument("--off", default="", help="features to leave out: " + ", ".join(sorted(features.FEATURES)))
    parser.add_argument("--kept", type=Path, default=Path("out/fuzz"), help="where failing cases go")
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    parser.add_argument("--as-it-is", action="store_true", help="do not make a failing case small")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    parser.add_argument("--life", type=Path, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    if chosen.life:
        live(Case.from_json(chosen.life[0].read_text()), chosen.life[1])
    first, _, last = (chosen.work or f"0:{chosen.cases}").partition(":")
    deadline = min(chosen.until, time.time() + 60 * chosen.minutes)
    wanted = features.chosen(chosen.on, chosen.off)
    plan = Plan(chosen.seed, int(first), int(last), wanted, chosen.kills, deadline, chosen.kept)
    if chosen.work:
        work(plan)
        return 0
    if chosen.case is not None or chosen.file:
        spark = spark_session()
        case = read_case(chosen.file.read_text()) if chosen.file else plan.case(spark, chosen.case)
        return again(spark, case, chosen.as_it_is)
    return campaign(plan, chosen)


def again(spark: SparkSession, case: AnyCase, as_it_is: bool) -> int:
    """Play one case in this process."""
    failures = play(spark, case, watch)
    for failure in failures:
        print(failure)
    if failures and not as_it_is:
        case = smallest(spark, case, failures[0])
    print(script_of(case))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


def campaign(plan: Plan, chosen: argparse.Namespace) -> int:
    options = [f"--seed={plan.seed}", f"--until={plan.deadline}", f"--on={chosen.on}", f"--off={chosen.off}"]
    options += [f"--kept={plan.kept}", *(["--kills"] if plan.kills else [])]
    found = Campaign(options, plan.seed, plan.deadline, plan.last, plan.kept)
    code = found.run()
    print(found.to_json() if chosen.json else found.summary())
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
