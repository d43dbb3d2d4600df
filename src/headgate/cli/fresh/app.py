"""`headgate fresh`: its commands."""

from __future__ import annotations

import typer

from headgate.cli.console import examples
from headgate.cli.fresh import plan, run, simulate, timetable
from headgate.cli.help_texts import ReadableCommand, ReadableGroup

EXAMPLES = examples(
    "fresh plan pages.csv --bandwidth 1000 --out plan.csv",
    "fresh simulate pages.csv --bandwidth 1000 --periods 200",
    "fresh timetable pages.csv --bandwidth 1000 --out timetable.csv",
    'fresh run pages.csv --bandwidth 1000 --period "1 h" --dir mirror',
)

app = typer.Typer(cls=ReadableGroup, no_args_is_help=True, epilog=EXAMPLES)
app.command("simulate", cls=ReadableCommand, epilog=simulate.EXAMPLES)(simulate.simulate)
app.command("timetable", cls=ReadableCommand, epilog=timetable.EXAMPLES)(timetable.timetable)
app.command("run", cls=ReadableCommand, epilog=run.EXAMPLES)(run.run)
app.command("plan", cls=ReadableCommand, epilog=plan.EXAMPLES)(plan.plan_command)


@app.callback()
def front() -> None:
    """Data freshening: plan, simulate and follow the refreshes of a mirror's copies."""
