"""How large a simulation may be: beyond this it would fill the memory or never end, most often by a typing error."""

from __future__ import annotations

from headgate.model import HeadgateError

MOST_TUPLES = 10_000_000  # minutes of time and some gigabytes
MOST_PERIODS = 1_000_000  # bursts or steps of one stream
MOST_BINS = 10_000_000  # samples of the queues, and bins of measures over time


def check_tuples(expected: float) -> None:
    """Refuse more arrivals than a simulation can hold."""
    if expected > MOST_TUPLES:
        raise HeadgateError(
            f"{_count(expected)} tuples would arrive, a simulation holds {MOST_TUPLES:,}",
            hint="lower the rate or batch, or shorten the duration",
        )


def check_bins(seconds: float, bin: float) -> None:
    """Refuse a run that lasts so long that it has too many bins."""
    if seconds / bin > MOST_BINS:
        raise HeadgateError(
            f"the run would last {_count(seconds)} s: {_count(seconds / bin)} bins of {bin:g} s, a simulation measures "
            f"{MOST_BINS:,}",
            hint="lower the load, the costs or the duration, set drain = false, or give a longer --bin",
        )


def too_many_periods(what: str, hint: str) -> HeadgateError:
    """The refusal of arrivals that change between on and off, or between rates, too often."""
    return HeadgateError(f"more than {MOST_PERIODS:,} {what} in one simulation", hint=hint)


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"
