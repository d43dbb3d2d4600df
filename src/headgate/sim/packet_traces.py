"""Packet traces as the Internet Traffic Archive has them (ita.ee.lbl.gov): lines of columns, the first one the time.

The traces of Bellcore (BC-pAug89.TL and others) count seconds from their beginning. Those reduced by the archive's
`sanitize` scripts (lbl-pkt-4.tcp and others) have the raw time stamp in their first line, and in every other line the
seconds since the whole second of the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, inf
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class PacketTrace:
    """The columns of a kind of file; whether `sanitize` wrote it."""

    columns: int
    says: str
    sanitized: bool = True


PACKET_TRACES = MappingProxyType(
    {
        ".tl": PacketTrace(2, "seconds, bytes", sanitized=False),
        ".tcp": PacketTrace(6, "time stamp, source, destination, source port, destination port, bytes"),
        ".sf": PacketTrace(8, "time stamp, source, destination, two ports, flags, sequence number, acknowledgement"),
        ".udp": PacketTrace(5, "time stamp, source, destination, source port, destination port"),
        ".encap": PacketTrace(1, "a time stamp"),
        ".other": PacketTrace(1, "a time stamp"),
    }
)


def packet_times(lines: Iterable[str], kind: str) -> list[float]:
    """The seconds of every packet since the trace began, in the order of the lines.

    >>> packet_times(["     0.512 64", "     0.750 1518"], ".tl")
    [0.512, 0.75]
    >>> packet_times(["759103200.25 1 2 23 1040 0", "0.75 2 1 1040 23 10"], ".tcp")
    [0.25, 0.75]
    >>> packet_times(["0.5 64", "0.75"], ".tl")
    Traceback (most recent call last):
    ValueError: line 2 has not the 2 columns of a packet: '0.75'
    """
    trace = PACKET_TRACES[kind]
    times = [_time(line, number, trace) for number, line in enumerate(lines, 1) if line.strip()]
    if trace.sanitized and len(times) > 1 and times[0] > times[1]:
        times[0] -= floor(times[0])
    return times


def _time(line: str, number: int, trace: PacketTrace) -> float:
    columns = line.split()
    if len(columns) != trace.columns:
        raise ValueError(f"line {number} has not the {_columns(trace.columns)} of a packet: '{line.strip():.60}'")
    try:
        time = float(columns[0])
    except ValueError:
        time = -inf
    if not 0.0 <= time < inf:
        raise ValueError(f"line {number} begins with '{columns[0]:.20}', which is not a time from 0 on")
    return time


def _columns(count: int) -> str:
    return f"{count} columns" if count > 1 else "1 column"
