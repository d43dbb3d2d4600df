"""A sweep's results as one Parquet table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.sweep.plan import SweepRow


def write_table(rows: Sequence[SweepRow], path: Path) -> Path:
    """Write one row per simulation: policy, varied settings, seed, and every measure."""
    measures = dict.fromkeys(name for row in rows for name in row.values)
    settings = list(rows[0].point)
    table = pa.table(
        {
            "policy": pa.array([row.policy for row in rows], pa.string()),
            **{name: pa.array([row.point[name] for row in rows]) for name in settings},
            "seed": pa.array([row.seed for row in rows], pa.int64()),
            **{name: pa.array([_number(row.values.get(name)) for row in rows], pa.float64()) for name in measures},
        }
    )
    pq.write_table(table, path)
    return path


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
