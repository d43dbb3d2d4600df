"""Ways of waiting tuples to the results, for policies that decide by deadlines."""

from __future__ import annotations

from math import inf, nextafter
from typing import NamedTuple

from headgate.model import QueryId, QueueId, Window


class Way(NamedTuple):
    """From a queue to the results of a query: what is wanted there, what it takes, and which windows are in between.

    >>> Way(0, "q", target=0.5, seconds=0.1, windows=(Window(4.0), Window(8.0))).result(arrival=3.0)
    8.0
    """

    queue: QueueId
    query: QueryId
    target: float  # seconds within which the query's results are wanted
    seconds: float  # of processing, filters aside, along the longest way
    windows: tuple[Window, ...]  # whose ends are waited for, in this order

    def result(self, arrival: float) -> float:
        """The earliest time at which a tuple can come out as a result: its arrival, or the end of its window.

        A window's result belongs to the window of the next operator that ends with it or after it.
        """
        moment = arrival
        for place, window in enumerate(self.windows):
            moment = window.closes(moment if not place else nextafter(moment, -inf))
        return moment
