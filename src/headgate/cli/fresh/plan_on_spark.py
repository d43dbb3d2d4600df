"""`headgate fresh plan --spark`: the same plan for tables that do not fit into memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from headgate.cli.console import note, show, show_json
from headgate.cli.number_format import number
from headgate.cli.spark_start import started
from headgate.freshness.column_names import ColumnNames
from headgate.model import HeadgateError
from headgate.model.number_text import significant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headgate.freshness.frames.plan import FramePlan


def plan(
    master: str,
    table: Path,
    bandwidth: float,
    columns: ColumnNames,
    out: Path | None,
    min_freshness: float | None,
    as_json: bool,
) -> None:
    """Plan on Spark; only sums are collected to this process."""
    from headgate.freshness.frames.plan import plan_frame
    from headgate.spark.jvm.settings import builder

    if out is not None and out.exists():
        raise HeadgateError(f"'{out}' is there already", hint="remove it, or choose another folder for --out")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # floors per element are computed in Python workers
    session = started(builder(master, "headgate-fresh").getOrCreate)
    session.sparkContext.setLogLevel("ERROR")
    try:
        frame_plan = plan_frame(
            _read(session, table), bandwidth, columns=columns, min_freshness=min_freshness, progress=note
        )
        _show(frame_plan, bandwidth, as_json)
        if out is not None:
            frame_plan.frame.write.parquet(str(out))
            note(f"wrote {out}")
    finally:
        session.stop()


def _read(session: SparkSession, table: Path) -> DataFrame:
    """A file or folder, or else a table of the catalogue."""
    if table.exists():
        if table.suffix.lower() == ".csv":
            return session.read.csv(str(table), header=True, inferSchema=True)
        return session.read.parquet(str(table))
    if not session.catalog.tableExists(str(table)):
        raise HeadgateError(f"there is no file and no table '{table}'", hint="check the name")
    return session.table(str(table))


def _show(frame_plan: FramePlan, bandwidth: float, as_json: bool) -> None:
    proof = frame_plan.certificate
    if as_json:
        show_json(
            {
                "perceived_freshness": frame_plan.perceived_freshness,
                "multiplier": proof.multiplier,
                "bandwidth": bandwidth,
                "used": proof.used,
                "elements": frame_plan.elements,
                "unrefreshed": frame_plan.unrefreshed,
                "violation": proof.violation,
                "bound": proof.bound,
                "passes": frame_plan.passes,
            }
        )
        return
    show(Text(f"{frame_plan.elements:,} elements, bandwidth {number(bandwidth)} per period", "bold"), "")
    show(
        f"Perceived freshness {frame_plan.perceived_freshness:.4f}, after {frame_plan.passes} passes.",
        f"{frame_plan.unrefreshed:,} elements that change and are wanted get no refresh.",
        f"One more unit of bandwidth would give {significant(proof.multiplier, 3)}; 10 % more about "
        f"{significant(0.1 * bandwidth * proof.multiplier, 2)}.",
        f"The optimality conditions hold to {proof.violation:.0e}; {proof.used / bandwidth:.0%} of the bandwidth "
        "is used.",
    )
