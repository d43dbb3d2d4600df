"""What `headgate why` prints: explanations, inversions and decisions as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from headgate.cli.console import note, show
from headgate.cli.number_format import NOTHING, number
from headgate.cli.tables import plain_table
from headgate.insight.text import decision_text, unfinished_text
from headgate.model.number_text import duration

if TYPE_CHECKING:
    from headgate.history.records import RunRecord
    from headgate.insight.attribution import InvertedPair, Loss
    from headgate.insight.inversions import Inversions
    from headgate.insight.why import Delay, Explanation
    from headgate.model import Why

MOST_RUNS = 12
MOST_LOSSES = 8
TIMES = frozenset({"wait", "cost", "global_cost", "ideal_time", "remaining_time"})
_FIRST = ("priority", "score 1")  # by which most policies compare


# -- one result ------------------------------------------------------------------------------------------------


def show_explanation(told: Explanation, origin: float) -> None:
    """What a result waited for, run by run, and in a sentence."""
    life, parts = told.moments, told.moments.parts
    came = f"{told.query}, class {told.query_class}: a tuple of {moment(life.arrival - origin)}"
    if told.waits_still:
        show(Text(f"{came} still waits"))
    else:
        show(Text(f"{came}, whose result was there at {moment(life.delivered - origin)}"))
    table = plain_table(*parts, "whole")
    for column in table.columns:
        column.justify = "right"
    table.add_row(*(duration(seconds) for seconds in parts.values()), duration(life.total))
    show(table)
    if told.delays:
        show(Text(""), _delays(told, origin))
    if told.run is not None and told.run.error:
        note(f"its run failed: {told.run.error}")
    if not told.scheduled:
        note(f"{told.query} was stopped or is paused: this is of the time before")
    show(Text(""), Text(f"{told.query} {told.sentence}"))


def _delays(told: Explanation, origin: float) -> Any:
    table = plain_table("waited", "behind", "class", "began", "tuples", "because", "numbers: it / the other")
    for column in (0, 3, 4):
        table.columns[column].justify = "right"
    longest = sorted(told.delays, key=lambda delay: -delay.seconds)[:MOST_RUNS]
    for delay in (delay for delay in told.delays if delay in longest):
        run = delay.run
        table.add_row(
            duration(delay.seconds),
            Text(_unit(run)),
            Text(run.query_class),
            moment(run.began - origin),
            f"{run.tuples:,}",
            delay.cause.value + unfinished_text([run], told.live),
            Text(_compared(delay)),
        )
    if len(told.delays) > len(longest):
        rest = [delay.seconds for delay in told.delays if delay not in longest]
        table.add_row(duration(sum(rest)), f"{len(rest):,} other runs", "", "", "", "", "")
    return table


def _unit(run: RunRecord) -> str:
    return run.unit if len(run.queries) == 1 or len(run.unit) <= 24 else f"group of {len(run.queries)}"


def _compared(delay: Delay) -> str:
    """The winner's numbers against those of the query that was passed over, or the reason in words."""
    why, passed = delay.run.why, delay.passed_over
    if why is None or passed is None:
        return ""
    if why.reason:
        return why.reason
    names = [name for name in _FIRST if name in passed.numbers and name in why.numbers][:1]
    names = names or [name for name in why.numbers if name in passed.numbers][:2]
    return ", ".join(
        f"{name.replace('_', ' ')} {number_text(name, passed.numbers)} / {number_text(name, why.numbers)}"
        for name in names
    )


# -- inversions ------------------------------------------------------------------------------------------------


def show_inversions(found: Inversions) -> None:
    """Inverted pairs with what delayed the more important class, and starving queries."""
    if not found.pairs:
        show(Text(f"no class answered later than a less important one {found.when}"))
    for place, pair in enumerate(found.pairs):
        if place:
            show(Text(""))
        show(
            Text(
                f"{pair.above} answers in {duration(pair.response_above)}, "
                f"{pair.below}, less important, in {duration(pair.response_below)}"
            )
        )
        if pair.losses:
            show(_losses(pair))
        show(Text(pair.summary))
    for query_class in dict.fromkeys(told.query_class for told in found.starving):
        longest, *others = sorted(
            (told for told in found.starving if told.query_class == query_class), key=lambda told: -told.moments.total
        )
        show(Text(f"{longest.query}, class {query_class}, starves: it {longest.sentence}"))
        if others:
            show(Text(f"so do others of {query_class}: {', '.join(told.query for told in others)}"))


def _losses(pair: InvertedPair) -> Any:
    """What all results of the more important class lost together."""
    table = plain_table("lost", "because", "to", "class", "runs", "tuples")
    for column in (0, 4, 5):
        table.columns[column].justify = "right"
    groups: dict[tuple[str, str, str], list[Loss]] = {}
    for loss in pair.losses:
        key = (
            (loss.cause.value, "", "")
            if loss.run is None
            else (loss.cause.value, _unit(loss.run), loss.run.query_class)
        )
        groups.setdefault(key, []).append(loss)
    ordered = sorted(groups.items(), key=lambda item: -sum(loss.seconds for loss in item[1]))
    for (cause, unit, query_class), group in ordered[:MOST_LOSSES]:
        runs = {loss.run.id: loss.run for loss in group if loss.run is not None}
        tuples = sum(run.tuples for run in runs.values())
        counted = (f"{len(runs):,}", f"{tuples:,}") if runs else ("", "")
        table.add_row(
            duration(pair.results * sum(loss.seconds for loss in group)), cause, Text(unit), Text(query_class), *counted
        )
    rest = [loss.seconds for _, group in ordered[MOST_LOSSES:] for loss in group]
    if rest:
        table.add_row(duration(pair.results * sum(rest)), "others", "", "", "", "")
    return table


# -- one decision ----------------------------------------------------------------------------------------------


def show_decision(decision: int, why_chosen: Why) -> None:
    """The numbers of the winner and of the runner-up."""
    show(Text(decision_text(decision, why_chosen)))
    if why_chosen.reason:
        show(Text(why_chosen.reason))
    sides = {f"winner: {why_chosen.winner}": why_chosen.numbers}
    if why_chosen.runner_up is not None:
        sides[f"runner-up: {why_chosen.runner_up}"] = why_chosen.runner_up_numbers
    table = plain_table("", *sides)
    for name in dict.fromkeys(name for numbers in sides.values() for name in numbers):
        table.add_row(name.replace("_", " "), *(number_text(name, numbers) for numbers in sides.values()))
    for column in table.columns[1:]:
        column.justify = "right"
    show(table)


def number_text(name: str, numbers: Mapping[str, float]) -> str:
    """One of the numbers that a policy decides by."""
    if name not in numbers:
        return NOTHING
    return duration(numbers[name]) if name in TIMES else number(numbers[name])


def moment(seconds: float) -> str:
    """A time since the driver began.

    >>> moment(12.3456), moment(-2.5)
    ('12.346 s', '2.5 s before the start')
    """
    return f"{seconds:.3f} s" if seconds > -0.0005 else f"{duration(-seconds)} before the start"
