"""What Al Moakar 2013, section 6.3.1, says of five workloads under eight schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MBD, MBD_DSP = "mbd", "mbd, inversion=dsp"
MPRR, ML, MOL, MRR, MORR = "mprr", "lottery", "operator-lottery", "mrr", "morr"
PCT, PCT_S = "per-class-thread", "per-class-thread, split=true"
SCHEDULERS = (MBD, MBD_DSP, MPRR, ML, MOL, MRR, MORR, PCT, PCT_S)
LEVELS = ("mean", "p50", "p75", "p90", "p95")

# Figures 28, 38, 48, 58 and 68: the schedulers without priority inversion at any of the levels.
UNINVERTED: Mapping[str, frozenset[str]] = {
    "5G_4": frozenset({MBD, MBD_DSP, MPRR}),
    "3D_6": frozenset({MBD, MBD_DSP, MPRR, ML}),
    "3E_6": frozenset({MBD, MBD_DSP, MPRR, MOL, PCT, PCT_S}),
    "3F_6": frozenset({MBD, MBD_DSP, MPRR}),
    "5I": frozenset({MBD, MBD_DSP, MPRR}),
}


class Figure(NamedTuple):
    """A printed number: a quotient of two classes' mean response times, or the largest PrIR at the mean."""

    workload: str
    scheduler: str
    what: str  # "c3/c1", or "PrIR"
    printed: str
    low: float  # what counts as the same
    high: float


def _about(value: float) -> tuple[float, float]:
    """Costs are not printed, so no more than the magnitude can agree: within a factor of two."""
    return value / 2, value * 2


FIGURES = (
    Figure("3D_6", MPRR, "c3/c1", "10", *_about(10)),
    Figure("3D_6", PCT_S, "PrIR", "0.021", *_about(0.021)),
    Figure("3E_6", MBD, "c3/c1", "3.6", *_about(3.6)),
    Figure("3E_6", PCT_S, "c3/c1", "123", *_about(123)),
    Figure("3E_6", MORR, "PrIR", "0.009", *_about(0.009)),
    Figure("3F_6", MBD, "c3/c1", "below 1.5", 1.0, 1.5),
    Figure("3F_6", MPRR, "c3/c1", "4.3", *_about(4.3)),
    Figure("3F_6", PCT_S, "PrIR", "63.5", *_about(63.5)),
    Figure("5I", MBD, "c5/c1", "6.2", *_about(6.2)),
    Figure("5I", PCT_S, "c3/c1", "48", *_about(48)),
    Figure("5I", PCT, "PrIR", "60.9", *_about(60.9)),
)
