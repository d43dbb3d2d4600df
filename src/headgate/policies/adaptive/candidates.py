"""The policies to choose among, as a setting names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headgate.model import HeadgateError, Level, Spec, Unit, UnitId, Value
from headgate.policies.contract import Policy
from headgate.policies.registry import create, find
from headgate.policies.settings import TRAIN

_HINT = "write for example candidates=[rr, mtiq, (bsd, clusters=12)]"


def read_candidates(value: Value, given: Mapping[str, Value], *, drop: bool) -> list[Policy]:
    """The policies that a list of strings names; those with settings stand in parentheses.

    Train settings and a level that are `given` hold for all that do not name their own. `drop` leaves those out that
    do not have the level; otherwise that is an error.
    """
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise HeadgateError(f"candidates must be a list of policies, found {value}", hint=_HINT)
    specs = [Spec.parse(str(text).removeprefix("(").removesuffix(")")) for text in texts]
    fitting = [spec for spec in specs if not drop or _has(spec, given.get("level"))]
    return [create(str(_with(spec, given))) for spec in fitting]


def _with(spec: Spec, given: Mapping[str, Value]) -> Spec:
    kind = find(spec.name)
    if not _has(spec, given.get("level")):
        levels = " or ".join(level.value for level in kind.levels)
        raise HeadgateError(
            f"candidate '{spec}' has no level {given['level']}", hint=f"it has {levels}: leave it out, or level"
        )
    own = {setting.name for setting in kind.settings}
    common = {"level", *(setting.name for setting in TRAIN if setting.name not in own)}
    return Spec(spec.name, {**{name: given[name] for name in common & given.keys()}, **spec.settings})


def _has(spec: Spec, level: Value | None) -> bool:
    kind = find(spec.name)
    return level is None or "level" in spec.settings or Level(str(level)) in kind.levels


def together(
    cuts: Sequence[tuple[Level | None, Sequence[Unit]]],
) -> tuple[list[Unit], list[frozenset[UnitId]]]:
    """The units of all candidates with new numbers, and which of them belong to each.

    Candidates of one level share that level's units; one that makes its own (level None) has them to itself.
    """
    all_units: list[Unit] = []
    by_level: dict[Level, frozenset[UnitId]] = {}
    belonging: list[frozenset[UnitId]] = []
    for level, cut in cuts:
        if level not in by_level:
            numbered = [replace(unit, id=len(all_units) + place) for place, unit in enumerate(cut)]
            all_units += numbered
            numbers = frozenset(unit.id for unit in numbered)
        else:
            numbers = by_level[level]
        if level is not None:
            by_level[level] = numbers
        belonging.append(numbers)
    return all_units, belonging
