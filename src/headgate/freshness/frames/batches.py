"""What Spark's Python workers compute, batch by batch, with the same functions as without Spark.

Spark tells the kind of function from the hints, so pyarrow is imported here for good; import this module late.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headgate.freshness.curve import ratio_at_freshness
from headgate.freshness.rates import Histories, estimate

RATES = "change_rate double, low double, high double"


def floors(rate: pa.Array, size: pa.Array, floor: pa.Array) -> pa.Array:
    """The bandwidth that each element's floor takes."""
    ratio = ratio_at_freshness(floor.to_numpy())
    load = rate.to_numpy() * size.to_numpy()
    return pa.array(np.divide(load, ratio, out=np.zeros(len(ratio)), where=ratio > 0))


def rates(gaps: pa.Array, unchanged: pa.Array, visits: pa.Array) -> pa.Array:
    """The change rates of elements, each with the list of its gaps that ended in a change."""
    changes = gaps.value_lengths().to_numpy().astype(np.int64)
    element = np.repeat(np.arange(len(changes)), changes)
    histories = Histories(element, gaps.flatten().to_numpy(), unchanged.to_numpy(), visits.to_numpy(), changes)
    estimates = estimate(histories)
    columns = [pa.array(column) for column in (estimates.rate, estimates.low, estimates.high)]
    return pa.StructArray.from_arrays(columns, names=["change_rate", "low", "high"])
