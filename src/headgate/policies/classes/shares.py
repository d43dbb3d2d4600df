"""The priority of a query inside its class."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headgate.model import ClassId, Level, QueryId, Unit, UnitId

LONGEST = 10_000  # slots of a round


def query_priorities(
    units: Collection[Unit], frequencies: Mapping[ClassId, float], costs: Mapping[QueryId, float]
) -> dict[UnitId, float]:
    """What each unit gets of its class's frequency: its share of the class's cost, on a scale where the least is 1.

    Pr_q = P_class · cost(q) / cost(class) · m, with m so large that the least Pr is 1 (Al Moakar 2013, section 6.1.2).
    Queries that share operators are one unit: their priorities are added, and all count as of the class that pays. A
    unit that costs nothing has 1, but in a class where nothing has a cost, as none is known yet, all have equal shares.
    If the round would be too long, m is smaller. A source is read as often as all that read it run together.
    """
    working = [unit for unit in units if unit.level is not Level.SOURCE]
    own = {unit.id: sum(costs[name] for name in unit.queries) for unit in working}
    of_class: dict[ClassId, float] = {}
    for unit in working:
        of_class[unit.payer] = of_class.get(unit.payer, 0.0) + own[unit.id]
    for unit in working:
        if not of_class[unit.payer]:
            own[unit.id] = float(len(unit.queries))
    of_class |= {
        name: sum(own[unit.id] for unit in working if unit.payer == name) for name, cost in of_class.items() if not cost
    }
    raw = {u.id: frequencies[u.payer] * own[u.id] / of_class[u.payer] if own[u.id] else 0.0 for u in working}
    for source in (unit for unit in units if unit.level is Level.SOURCE):
        raw[source.id] = sum(raw[u.id] for u in working if not set(source.queries).isdisjoint(u.queries))
    least = max(min((share for share in raw.values() if share), default=1.0), sum(raw.values()) / LONGEST)
    # Rounded, because a slot more for the last digit of a float would be a slot too many.
    return {number: round(share / least, 9) or 1.0 for number, share in raw.items()}
