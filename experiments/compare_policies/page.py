"""The page of the comparison, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill

from experiments.compare_policies.plan import DOCUMENTS, LEAST
from experiments.compare_policies.ranking import MEASURES, Outcome, typical_ratios
from experiments.compare_policies.tightness import Tightness
from headgate.metrics import measure_at
from headgate.model.number_text import time_unit

LEADERS = 3  # policies that are named where many are near
NAMES = 3  # of equal ones


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How the numbers came about."""

    date: str
    command: str
    seeds: int
    executions: float


HOW = """
    Written by `{command}` on {date}: {runs:,} simulations, {seeds} of each. Every workload of the documents
    ([workloads/](../workloads/README.md)) is simulated under every policy that fits it, with its default settings,
    until operators have worked about {executions:,.0f} times, but for {least:g} s at least; the tables say how many
    seconds that is, and all that has arrived is worked through. These are short runs: differences of a few per cent
    mean nothing. `headgate compare` does the same for one workload at any length.
"""
WHOLE = """
    How many times the best value of each workload a policy has, as the geometric mean over all workloads on which the
    measure tells policies apart: 1.00 would be best everywhere. Only policies that fit all of these workloads.
"""
BOUND = """
    No schedule goes below the bound, not even one that knows the future and may interrupt: it lets one core that is as
    fast as all together work on whatever has the least work left, and charges every result only with what it needs
    itself (`src/headgate/sim/bounds`). It leaves out overheads, which long trains share, tuples that lead to no result,
    which a clairvoyant would leave for the end, and the order in which queues give their tuples. So a gap is not all
    to be gained, and where overheads are most of the work (Al Moakar's workloads) the bound says little. On cases so
    small that all orders of whole results can be tried, the best order's mean response is above the bound by:
"""
CELLS = "The best policies with their value; × is how many times the lower bound that is."


def page(outcomes: Sequence[Outcome], tight: Sequence[Tightness], about: Circumstances, picture: str) -> str:
    """All of it."""
    how = HOW.format(
        command=about.command,
        date=about.date,
        runs=sum(len(each.case.tasks) for each in outcomes),
        seeds="one seed" if about.seeds == 1 else f"{about.seeds} seeds",
        executions=about.executions,
        least=LEAST,
    )
    parts = [
        "# All policies on all documents' workloads\n",
        _paragraph(how),
        "## Who is best on the whole\n",
        _paragraph(WHOLE),
        _whole(outcomes),
        "## How much is left to gain\n",
        f"![How far every policy is from the lower bound on every workload]({picture})\n",
        _paragraph(BOUND),
        _tightness(tight),
        *(_document(title, outcomes) for title in DOCUMENTS.values()),
    ]
    return "\n".join(part for part in parts if part)


def _paragraph(text: str) -> str:
    return fill(" ".join(text.split()), 120, break_on_hyphens=False, break_long_words=False) + "\n"


def _whole(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for measure, words in MEASURES.items():
        ratios = typical_ratios(outcomes, measure)
        if ratios:
            leaders = [f"`{name}` {ratio:.2f}" for name, (ratio, _) in list(ratios.items())[:LEADERS]]
            worst = list(ratios)[-1]
            rows.append((words, str(ratios[worst][1]), ", ".join(leaders), f"`{worst}` {ratios[worst][0]:.3g}"))
    return table(("measure", "workloads", "nearest to the best", "farthest"), rows)


def _tightness(tight: Sequence[Tightness]) -> str:
    rows = [
        (str(each.cores), str(each.cases), f"{each.reached:.0%}", f"{each.mean:.1%}", f"{each.largest:.1%}")
        for each in tight
    ]
    return table(("cores", "cases", "reached in", "mean", "largest"), rows)


def _document(title: str, outcomes: Sequence[Outcome]) -> str:
    own = [each for each in outcomes if each.case.document == title]
    if not own:
        return ""
    measures = [measure for measure in MEASURES if any(measure in each.values for each in own)]
    head = ("workload", "s", *(MEASURES[measure] for measure in measures))
    rows = [
        (each.case.name, f"{each.case.workload.duration:g}", *(_cell(each, measure) for measure in measures))
        for each in own
    ]
    return f"## {title}\n\n{CELLS}\n\n{table(head, rows)}"


def _cell(outcome: Outcome, measure: str) -> str:
    if measure not in outcome.values:
        return "–"
    best = outcome.best(measure)
    names = ", ".join(f"`{name}`" for name in best[:NAMES]) + (f" and {len(best) - NAMES} more" if best[NAMES:] else "")
    gap = outcome.gap(measure)
    return f"{names}: {_value(measure, outcome.values[measure][best[0]])}" + (f" (×{gap:#.3g})" if gap else "")


def _value(measure: str, value: float) -> str:
    if not measure_at(measure).is_time:
        return f"{value:.3g}"
    unit, size = time_unit([value])
    return f"{value / size:.3g} {unit}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(table(("a", "b"), [("1", "2")]))
    | a | b |
    |---|---|
    | 1 | 2 |
    <BLANKLINE>
    """
    lines = [head, *rows]
    rule = "|" + "---|" * len(head)
    written = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([written[0], rule, *written[1:], ""])
