"""What the experiments on overheads share (section 3.4.5)."""

from __future__ import annotations

from headgate.metrics import Records
from headgate.reproduction import Calculation, Key, Simulation, Values

NAMES = {"TAAT": "taat", "BAAT": "baat", "MC": "aaat"}


def spent(records: Records) -> Values:
    """Core seconds that were not spent on tuples, and who spent them."""
    overhead = records.call_overhead + records.run_overhead + records.scheduling
    return {"overhead": overhead, "scheduler": records.scheduling / overhead}


def batches() -> dict[Key, Simulation | Calculation]:
    """A tuple, a box and an application at a time, on the same tuples."""
    return {
        name: Simulation(
            workload="carney-3.10",
            policy=f"{policy}, order=sorted, schedule=1000",
            settings={"load": 0.9},
            measure=spent,
        )
        for name, policy in NAMES.items()
    }
