"""Published results and their verdicts as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headgate.cli.console import show
from headgate.cli.tables import plain_table

if TYPE_CHECKING:
    from headgate.reproduction import Experiment
    from headgate.reproduction.outcome import Outcome

COLOURS = {"reproduced": "green", "partly": "yellow", "not": "red"}


def show_experiments(experiments: Sequence[Experiment]) -> None:
    """Show which results there are."""
    table = plain_table("document", "id", "claim")
    for each in experiments:
        table.add_row(each.document, each.id, Text(" ".join(each.claim.split())))
    show(table)


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Show one table per result, published beside measured, and how many have each verdict."""
    from headgate.reproduction.outcome import counts

    for outcome in outcomes:
        experiment = outcome.experiment
        title = Text(f"{experiment.document} {experiment.id} ({experiment.source}): ", "bold")
        show(title.append(outcome.verdict, COLOURS[outcome.verdict]), Text(" ".join(experiment.claim.split()), "dim"))
        table = plain_table("", "published", "measured", "")
        for each in outcome.comparisons:
            remark = "" if each.order_ok and each.figures_ok else "figure" if each.order_ok else "order"
            table.add_row(Text(each.what), Text(each.published), Text(each.measured), Text(remark, "red"))
        show(table, "")
    show(Text(", ".join(f"{number} {verdict}" for verdict, number in counts(outcomes).items()), "bold"))
