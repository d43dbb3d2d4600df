"""What the runs of an experiment measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.metrics.measures.confidence import Band
from headgate.metrics.report.measure_names import lookup
from headgate.model import HeadgateError
from headgate.reproduction.sample import Sample

Key = str | tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class Measurements:
    """The values of every run, by the run's key and in the order of the seeds.

    >>> found = Measurements({
    ...     ("hr", 0.7): [{"slowdown.mean": 3.0}, {"slowdown.mean": 5.0}],
    ...     ("hnr", 0.7): [{"slowdown.mean": 2.0}, {"slowdown.mean": 4.0}],
    ... })
    >>> found.sample("slowdown.mean", "hr", 0.7).mean
    4.0
    >>> {name: sample.mean for name, sample in found.samples("slowdown.mean", 0.7).items()}
    {'hr': 4.0, 'hnr': 3.0}
    >>> {place: sample.mean for place, sample in found.curve("slowdown.mean", "hnr").items()}
    {0.7: 3.0}
    """

    results: Mapping[Key, Sequence[Mapping[str, float | None]]]

    def sample(self, measure: str, *key: str | float) -> Sample:
        """One measure of the run with this key, over the seeds."""
        found = next((values for own, values in self.results.items() if _parts(own) == key), None)
        if found is None:
            there = ", ".join(map(str, self.results))
            raise HeadgateError(f"the experiment has no run {key}", hint=f"there are {there}")
        return Sample.of(lookup(values, measure) for values in found)

    def samples(self, measure: str, *rest: str | float) -> dict[str, Sample]:
        """One measure of all runs whose key ends like this, by the first part of the key; without an end, of all."""
        return {str(parts[0]): self.sample(measure, *parts) for parts in map(_parts, self.results) if parts[1:] == rest}

    def curve(self, measure: str, *start: str | float) -> dict[float, Sample]:
        """One measure of all runs whose key begins like this and then has a number, by that number."""
        return {
            float(parts[-1]): self.sample(measure, *parts)
            for parts in map(_parts, self.results)
            if parts[:-1] == start and not isinstance(parts[-1], str)
        }

    def curves(self, measure: str, *names: str) -> dict[str, list[tuple[float | str, Band]]]:
        """A curve of one measure for each first part of a key, or for these, along the second: what a picture takes."""
        lines: dict[str, list[tuple[float | str, Band]]] = {}
        for parts in (parts for parts in map(_parts, self.results) if not names or parts[0] in names):
            sample = self.sample(measure, *parts)
            if sample.known:
                lines.setdefault(str(parts[0]), []).append((parts[1] if parts[1:] else "", sample.band))
        return lines


def _parts(key: Key) -> tuple[str | float, ...]:
    return (key,) if isinstance(key, str) else key
