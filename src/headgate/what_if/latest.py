"""The end of a history: what was lately, where all of it would take too long to replay."""

from __future__ import annotations

from headgate.history.history import History
from headgate.model import HeadgateError


def latest(history: History, seconds: float | None) -> History:
    """The last so many seconds of a history; all of it if None, or if it is shorter.

    >>> from headgate.history.records import Arrivals
    >>> history = History.of([Arrivals(9.0, "s", tuple((float(at), 1) for at in range(10)))])
    >>> latest(history, 3.0).arrivals
    {'s': [(6.0, 1), (7.0, 1), (8.0, 1), (9.0, 1)]}
    """
    if seconds is None:
        return history
    if not seconds > 0:
        raise HeadgateError(f"the last {seconds:g} seconds are asked for", hint="write a time above 0, such as 60 s")
    since = history.ended - seconds
    if since <= history.began:
        return history
    if not any(chunk[0] >= since for chunks in history.arrivals.values() for chunk in chunks[-1:]):
        raise HeadgateError(f"nothing came in the last {seconds:g} s that were recorded", hint="ask for a longer time")
    former = [setting for setting in history.settings if setting.at <= since]
    return History(
        [run for run in history.runs if run.began >= since],
        {stream: [chunk for chunk in chunks if chunk[0] >= since] for stream, chunks in history.arrivals.items()},
        {query: [one for one in made if one.at >= since] for query, made in history.deliveries.items()},
        [*former[-1:], *(setting for setting in history.settings if setting.at > since)],
    )
