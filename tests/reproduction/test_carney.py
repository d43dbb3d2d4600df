"""The results of Carney 2005 that need no simulation come out as published."""

from __future__ import annotations

import pytest
from experiments.carney import f2_1, f2_3, f2_10, f3_8, t2_1
from experiments.carney.curves import holds_until, in_all, stays_below

from headgate.reproduction import Calculation, Experiment, Measurements, Sample, Verdict, verdict


@pytest.mark.parametrize("experiment", [module.EXPERIMENT for module in (t2_1, f2_1, f2_3, f2_10, f3_8)])
def test_calculations_are_reproduced(experiment: Experiment) -> None:
    size = experiment.quick
    results = {
        key: [run.function(size, seed) for seed in range(1, size.seeds + 1)]
        for key, run in experiment.runs_of(full=False).items()
        if isinstance(run, Calculation)
    }
    assert verdict(experiment.compare(Measurements(results))) is Verdict.REPRODUCED


def test_up_to_where_a_curve_holds() -> None:
    curve = {100.0: Sample.of(1.0), 200.0: Sample.of(0.9), 300.0: Sample.of(0.7)}
    assert [holds_until(curve, level) for level in (0.8, 0.5, 1.5)] == pytest.approx([250.0, 300.0, 100.0])
    assert stays_below({0.5: Sample.of(1.0), 1.0: Sample.of(3.0)}, 2.0) == 0.75
    assert list(in_all(curve, 20)) == [2000.0, 4000.0, 6000.0]
