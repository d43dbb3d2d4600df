"""What came out: an experiment's comparisons and its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.reproduction.comparisons import Comparison, Verdict, verdict
from headgate.reproduction.experiment import Experiment
from headgate.reproduction.measurements import Measurements


@dataclass(frozen=True, slots=True)
class Outcome:
    """An experiment that has been run."""

    experiment: Experiment
    measurements: Measurements
    comparisons: Sequence[Comparison]

    @classmethod
    def of(cls, experiment: Experiment, measurements: Measurements) -> Outcome:
        return cls(experiment, measurements, tuple(experiment.compare(measurements)))

    @property
    def verdict(self) -> Verdict:
        return verdict(self.comparisons)

    @property
    def published(self) -> list[str]:
        """What the document says, a line for each comparison."""
        return [f"{each.what}: {each.published}" for each in self.comparisons]

    @property
    def measured(self) -> list[str]:
        """What was measured, a line for each comparison."""
        return [f"{each.what}: {each.measured}" for each in self.comparisons]

    def to_json(self) -> dict[str, Any]:
        return {
            "document": self.experiment.document,
            "id": self.experiment.id,
            "source": self.experiment.source,
            "claim": self.experiment.claim,
            "published": "; ".join(self.published),
            "measured": "; ".join(self.measured),
            "verdict": self.verdict.value,
            "comparisons": [_comparison_json(each) for each in self.comparisons],
        }


def _comparison_json(each: Comparison) -> dict[str, Any]:
    return {
        "what": each.what,
        "published": each.published,
        "measured": each.measured,
        "order_ok": each.order_ok,
        "figures_ok": each.figures_ok,
    }


def counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many experiments have each verdict."""
    found = Counter(outcome.verdict for outcome in outcomes)
    return {each.value: found[each] for each in Verdict}
