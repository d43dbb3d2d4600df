"""Sentences about what is wrong, for the live table and for the status of a server."""

from __future__ import annotations


def disk_alarm(full: bool, error: str) -> list[str]:
    """That the disk is full, or refuses writes; nothing if all is well.

    >>> disk_alarm(True, "")
    ['the disk is full: less than 1 MB is free']
    """
    if not full and not error:
        return []
    what = "the disk is full" if full else "the disk refuses what is written"
    return [f"{what}: {error or 'less than 1 MB is free'}"]


def stalled_alarm(name: str, seconds: float) -> str:
    """That a query commits nothing.

    >>> stalled_alarm("fire", 34.2)
    'fire is stalled: nothing was committed for 34 s though tuples wait'
    """
    return f"{name} is stalled: nothing was committed for {seconds:.0f} s though tuples wait"
