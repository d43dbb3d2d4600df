"""What added queries would do to those that are there: which class waits longer, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.model import Query
from headgate.model.number_text import duration
from headgate.what_if.comparison import SURE, Comparison
from headgate.what_if.response_times import Judged, Times


@dataclass(frozen=True, slots=True)
class ClassEffect:
    """The mean response time of a class's recorded queries, without the added ones and with them."""

    without: float | None
    beside: float | None
    error: float | None  # how far the replay of what was recorded is off

    @property
    def change(self) -> float | None:
        return None if self.beside is None or not self.without else self.beside / self.without - 1.0

    @property
    def within_error(self) -> bool | None:
        """Whether that change is so small that it says nothing."""
        return None if self.change is None or self.error is None else abs(self.change) <= max(SURE, self.error)

    @property
    def slower(self) -> bool:
        """Whether the class gets slower, as far as can be told."""
        return self.change is not None and self.change > 0 and not self.within_error

    def to_json(self) -> dict[str, Any]:
        told = {"without": self.without, "with": self.beside, "change": self.change}
        return {**told, "error": self.error, "within_error": self.within_error}


@dataclass(frozen=True, slots=True)
class Effect:
    """What queries would do that were not there."""

    queries: Mapping[str, Times]  # that are added, with how long their own results would take
    classes: Mapping[str, ClassEffect]

    @classmethod
    def of(cls, comparison: Comparison, policy: str, added: Iterable[Query]) -> Effect:
        """By the replay of the recorded policy, and one of the same policy with the added queries."""
        judged = comparison.policies[policy]
        names = {query.name for query in added}
        effects = {
            name: ClassEffect(
                comparison.replayed.classes.get(name, Times()).mean,
                _mean(judged, [query for query in comparison.members.get(name, ()) if query not in names]),
                comparison.error(name),
            )
            for name in comparison.recorded.classes
        }
        return cls({name: judged.queries.get(name, Times()) for name in sorted(names)}, effects)

    @property
    def slower(self) -> list[str]:
        """The classes that would get slower, the one that loses most first."""
        found = [name for name, effect in self.classes.items() if effect.slower]
        return sorted(found, key=lambda name: -(self.classes[name].change or 0.0))

    def text(self) -> str:
        """One sentence for people."""
        who = " and ".join(self.queries) or "nothing"
        if not self.slower:
            return f"With {who} no class would be slower by more than the error."
        told = []
        for name in self.slower:
            effect = self.classes[name]
            times = f"{duration(effect.without or 0.0)} → {duration(effect.beside or 0.0)}"
            told.append(f"{name} by {effect.change or 0.0:.0%} ({times})")
        return f"With {who} these would be slower: {', '.join(told)}."

    def to_json(self) -> dict[str, Any]:
        return {
            "queries": {name: times.to_json() for name, times in self.queries.items()},
            "classes": {name: effect.to_json() for name, effect in self.classes.items()},
            "slower": self.slower,
            "text": self.text(),
        }


def _mean(judged: Judged, queries: Iterable[str]) -> float | None:
    """The mean response time of some queries."""
    times = [judged.queries[query] for query in queries if query in judged.queries]
    results = sum(one.results for one in times)
    return sum((one.mean or 0.0) * one.results for one in times) / results if results else None
