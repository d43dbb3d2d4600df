"""The table of a what-if: classes by policy, and what can be believed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headgate.cli.console import show, stdout
from headgate.cli.number_format import NOTHING
from headgate.cli.regret import regret_text
from headgate.cli.tables import plain_table
from headgate.model.number_text import duration, significant, time_unit
from headgate.what_if.comparison import TARGETS, value
from headgate.what_if.response_times import Times

if TYPE_CHECKING:
    from headgate.policies.adaptive.regret import Regret
    from headgate.what_if.ask import Answer
    from headgate.what_if.comparison import Comparison
    from headgate.what_if.response_times import Judged

SAME = "≈"
LONG = 40  # letters of a policy's name beyond which it takes several lines
WIDE = 27  # letters that a class takes, with its 95th percentile


def show_answer(answer: Answer, source: str) -> None:
    """Print what came of a question: the table, what it says in words, regrets, and what added queries do."""
    by = answer.inquiry.by
    show_comparison(answer.comparison, by, source)
    for regret in answer.regrets:
        show(Text(_regret_line(answer, regret, by)))
    if (effect := answer.effect) is not None:
        show(Text(effect.text()))


def _regret_line(answer: Answer, regret: Regret, by: str) -> str:
    unit, scale = ("", 1.0) if by == TARGETS else time_unit([one for one in (regret.value, regret.best_value) if one])
    measure = "targets met" if by == TARGETS else f"{by} response time"
    line = regret_text(regret, measure, f" {unit}" if unit else "", scale)
    return f"{line}; that is within the error" if answer.regret_within_error(regret) else line


def show_comparison(comparison: Comparison, by: str, source: str) -> None:
    """Print the recorded run, its replay and the ranked policies, then what differs by more than the error."""
    ranking = comparison.ranking(by)
    rows: list[tuple[str, Judged]] = [
        (f"recorded: {comparison.recorded.policy}", comparison.recorded),
        ("  replayed", comparison.replayed),
        *((f"{number}. {policy}", comparison.policies[policy]) for number, policy in enumerate(ranking, 1)),
    ]
    classes = list(comparison.recorded.classes)
    units = {name: time_unit(_known([judged.classes.get(name, Times()) for _, judged in rows])) for name in classes}
    tails = stdout().width >= max(map(len, (label for label, _ in rows))) + WIDE * len(classes)
    headings = [heading for name, (unit, _) in units.items() for heading in _headings(name, unit, tails)]
    targets = [] if not comparison.recorded.targets else ["targets\nmet"]
    table = plain_table("policy", *headings, *targets)
    columns = [cells for name in classes for cells in _columns(comparison, name, units[name][1], rows, ranking, tails)]
    if targets:
        columns.append([f"{judged.met} of {len(judged.targets)}" for _, judged in rows])
    for place, (label, _) in enumerate(rows):
        table.add_row(Text(label), *(column[place] for column in columns))
    table.columns[0].no_wrap = all(len(label) <= LONG for label, _ in rows)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    show(Text(f"{source}: {_length(comparison)}, by {by}"), Text(""), table, Text(""))
    for line in _sentences(comparison, by, ranking):
        show(Text(line))


def _columns(
    comparison: Comparison,
    name: str,
    scale: float,
    rows: list[tuple[str, Judged]],
    ranking: list[str],
    with_tails: bool,
) -> list[list[str]]:
    times = [judged.classes.get(name, Times()) for _, judged in rows]
    means, tails = (_numbers([getattr(one, part) for one in times], scale) for part in ("mean", "p95"))
    error = comparison.error(name)
    changes = ["", NOTHING if error is None else f"off {error:.0%}"]
    for policy in ranking:
        change, same = comparison.change(policy, name), comparison.within_error(policy, name)
        changes.append(NOTHING if change is None else f"{SAME if same else ''}{change:+.0%}")
    return [means, tails, changes] if with_tails else [means, changes]


def _headings(name: str, unit: str, tails: bool) -> list[str]:
    return [f"{name}\nmean {unit}", *(["\np95"] if tails else []), "\nchange"]


def _numbers(values: list[float | None], scale: float) -> list[str]:
    """Numbers with three digits: more are not to be believed."""
    return [NOTHING if value is None else significant(value / scale, 3) for value in values]


def _known(times: list[Times]) -> list[float]:
    return [one.mean for one in times if one.mean] or [1.0]


def _length(comparison: Comparison) -> str:
    return f"{comparison.recorded.overall.results:,} recorded results"


def _sentences(comparison: Comparison, by: str, ranking: list[str]) -> list[str]:
    """What the table says, in words."""
    lines = []
    errors = {name: error for name in comparison.recorded.classes if (error := comparison.error(name)) is not None}
    if errors:
        off = ", ".join(f"{name} {error:.0%}" for name, error in errors.items())
        lines.append(f"The replay of the recorded policy is off by: {off}.")
    if any(comparison.within_error(policy, name) for policy in ranking for name in comparison.recorded.classes):
        lines.append(f"{SAME} marks changes that are within that error, or below 5 %: they say nothing.")
    lines += [
        f"Under {policy}, {' and '.join(missing)} would have got no results in that time."
        for policy in ranking
        if (missing := comparison.unserved(policy))
    ]
    if len(ranking) > 1:
        best = ranking[0]
        tied = [policy for policy in ranking[1:] if comparison.tied(policy, best, by)]
        if tied:
            lines.append(f"By {by}, {best} cannot be told apart from {', '.join(tied)}.")
        else:
            lines.append(f"By {by}, {best} is the best{_of(comparison, best, by)}.")
    return lines


def _of(comparison: Comparison, policy: str, by: str) -> str:
    judged = comparison.policies[policy]
    if by == TARGETS:
        return f": {judged.met} of {len(judged.targets)} met"
    found = value(judged, by)
    return "" if found is None else f": {duration(found)}"
