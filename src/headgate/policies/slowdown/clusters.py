"""Units in clusters of like priority: fewer priorities to compute at a decision (Sharaf et al. 2006, section 6.2)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence

from headgate.model import Unit, UnitId
from headgate.policies.contract import Tally, View, sorting
from headgate.policies.order import Ages

_NONE = math.inf
Key = tuple[float, float, int]  # the smallest wins: priority turned round, head, rank


def edges(values: Iterable[float], count: int, clustering: str) -> list[float]:
    """The lower edges of the clusters that positive numbers are cut into; they are the pseudo-priorities.

    By logarithm the largest number of a cluster is at most so many times its smallest, the same in all clusters;
    uniform clusters are equally wide, so that the lowest holds numbers of very different size.

    >>> edges([1.0, 20.0, 100.0], 2, "log")
    [1.0, 10.0]
    >>> edges([1.0, 20.0, 100.0], 2, "uniform")
    [1.0, 50.5]
    """
    cut = sorted(value for value in values if 0.0 < value < math.inf)
    if not cut:
        return []
    least, most = cut[0], cut[-1]
    if clustering == "log":
        return [least * (most / least) ** (place / count) for place in range(count)]
    return [least + (most - least) * place / count for place in range(count)]


def cluster_of(value: float, lower: Sequence[float]) -> float:
    """The pseudo-priority of the cluster that a number belongs to.

    What never yields anything and what costs nothing stand in clusters of their own, below and above all others.

    >>> [cluster_of(value, [1.0, 10.0]) for value in (0.0, 1.0, 9.9, 10.0, 100.0, math.inf)]
    [0.0, 1.0, 1.0, 10.0, 10.0, inf]
    """
    if not 0.0 < value < math.inf:
        return value
    return lower[max(0, bisect_right(lower, value) - 1)]


class Clusters:
    """Keeps ready units by cluster, in each the oldest head first.

    A cluster's priority is its pseudo-priority times the wait of its oldest tuple. Units that are no longer ready are
    dropped when they come up; until then their cluster looks older than it is, never younger.
    """

    def __init__(self, pseudo: Mapping[UnitId, float], view: View, tally: Tally, *, pruned: bool) -> None:
        self._tally = tally
        tally.compared += sorting(len(pseudo))  # to cut them into clusters
        ranked = sorted(pseudo, key=lambda number: (-view.units[number].depth, number))
        self._units = [view.units[number] for number in ranked]
        self._rank = {number: rank for rank, number in enumerate(ranked)}
        self._pseudo = sorted(set(pseudo.values()), reverse=True)  # of each cluster, the best first
        place = {value: number for number, value in enumerate(self._pseudo)}
        self._cluster = {number: place[value] for number, value in pseudo.items()}
        self._ages = [Ages(tally) for _ in self._pseudo]
        self._arrivals: list[tuple[float, int]] = []  # (head, cluster) of every cluster with entries, oldest first
        self._shown = [_NONE] * len(self._pseudo)  # the head with which each cluster stands there
        self._pruned = pruned

    # -- as the order of a linear policy -----------------------------------------------------------------------

    def add(self, view: View, unit: Unit) -> None:
        cluster = self._cluster[unit.id]
        self._ages[cluster].put(self._rank[unit.id], view.oldest(unit))
        self._show(cluster)

    def pop(self, view: View) -> Unit | None:
        cluster = self.best(view)
        return None if cluster is None else self._take(cluster)

    # -- as clusters -------------------------------------------------------------------------------------------

    def pop_all(self, view: View, streams: Mapping[UnitId, frozenset[str]]) -> list[Unit]:
        """All units of the best cluster that the tuple at its head awaits: equal arrival, and a stream in common."""
        cluster = self.best(view)
        if cluster is None:
            return []
        head = self._settle(cluster, view)
        first = self._take(cluster)
        popped: list[Unit] = [first]
        others: list[Unit] = []
        while self._settle(cluster, view) == head:
            unit = self._take(cluster)
            (others if streams[unit.id].isdisjoint(streams[first.id]) else popped).append(unit)
        for unit in others:
            self.add(view, unit)
        return popped

    def best(self, view: View) -> int | None:
        """The cluster of highest priority; of equal ones that of the oldest tuple, then nearest to the output."""
        best = self._pruned_search(view) if self._pruned else self._full_scan(view)
        return None if best is None else best[1]

    def pseudo_priority(self, unit: Unit) -> float:
        return self._pseudo[self._cluster[unit.id]]

    def priorities(self, view: View) -> dict[UnitId, float]:
        """What every ready unit counts with: the priority of its cluster."""
        heads: dict[int, float] = {}
        for unit in view.ready.values():
            cluster = self._cluster[unit.id]
            heads[cluster] = min(heads.get(cluster, _NONE), view.oldest(unit))
        return {
            number: _priority(self._pseudo[self._cluster[number]], view.now - heads[self._cluster[number]])
            for number in view.ready
        }

    def _full_scan(self, view: View) -> tuple[Key, int] | None:
        keys = ((self._key(cluster, view), cluster) for cluster in range(len(self._pseudo)))
        return min(((key, cluster) for key, cluster in keys if key is not None), default=None)

    def _pruned_search(self, view: View) -> tuple[Key, int] | None:
        """Look at clusters by falling pseudo-priority and by rising arrival in turns, until no other can win.

        One that is in neither part seen so far has at most the next pseudo-priority and the wait that was seen last.
        """
        best: tuple[Key, int] | None = None
        seen: set[int] = set()
        for cluster, following in enumerate([*self._pseudo[1:], 0.0]):
            arrived = self._at_place(cluster, view)  # clusters are numbered by their place in the other list
            if arrived is None:  # every cluster with entries has been looked at
                return best
            for candidate in (cluster, arrived):
                if candidate not in seen and (key := self._key(candidate, view)) is not None:
                    best = (key, candidate) if best is None else min(best, (key, candidate))
                seen.add(candidate)
            if best is not None and -best[0][0] > _priority(following, view.now - self._shown[arrived]):
                return best
        return best

    def _at_place(self, place: int, view: View) -> int | None:
        """The cluster at a place of the arrival list, once it stands where it belongs."""
        while place < len(self._arrivals):
            head, cluster = self._arrivals[place]
            if self._settle(cluster, view) == head:
                return cluster
        return None

    def _key(self, cluster: int, view: View) -> Key | None:
        """What a cluster is compared by; None if nothing in it can run."""
        self._settle(cluster, view)
        found = self._ages[cluster].first()
        if found is None:
            return None
        self._tally.computed += 1
        self._tally.compared += 1
        head, rank = found
        return -_priority(self._pseudo[cluster], view.now - head), head, rank

    def _settle(self, cluster: int, view: View) -> float:
        """Drop what is no longer so from the front; the head of what is in front then, inf if nothing is."""
        ages = self._ages[cluster]
        while (found := ages.first()) is not None and self._units[found[1]].id not in view.ready:
            ages.take()
        self._show(cluster)
        return _NONE if found is None else found[0]

    def _take(self, cluster: int) -> Unit:
        found = self._ages[cluster].take()
        assert found is not None
        self._show(cluster)
        return self._units[found[1]]

    def _show(self, cluster: int) -> None:
        """Keep the cluster's place in the list by arrival."""
        if not self._pruned:
            return
        found, shown = self._ages[cluster].first(), self._shown[cluster]
        head = _NONE if found is None else found[0]
        if head != shown:
            self._tally.compared += len(self._arrivals).bit_length()
            if shown != _NONE:
                del self._arrivals[bisect_left(self._arrivals, (shown, cluster))]
            if head != _NONE:
                insort(self._arrivals, (head, cluster))
            self._shown[cluster] = head


def _priority(pseudo: float, wait: float) -> float:
    """Infinity wins at once: times no wait at all it would be no number."""
    return pseudo if pseudo == math.inf else pseudo * wait
