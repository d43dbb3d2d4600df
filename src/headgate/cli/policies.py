"""`headgate policies`: list the policies, or show one with its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from headgate.cli.console import examples, show, show_json
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.tables import plain_table
from headgate.model import Spec

if TYPE_CHECKING:
    from headgate.policies.contract import Policy

EXAMPLES = examples("policies", "policies show bsd", "policies show bsd --json", "policies show ./mine.py:Mine")

app = typer.Typer(cls=ReadableGroup, invoke_without_command=True, epilog=EXAMPLES)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback()
def catalogue(context: typer.Context, as_json: AsJson = False) -> None:
    """List the policies, or show one of them."""
    from headgate.policies.catalogue import summary
    from headgate.policies.registry import policies

    if context.invoked_subcommand is not None:
        context.obj = as_json
        return
    if as_json:
        show_json({"policies": {name: summary(policy) for name, policy in policies().items()}})
        return
    table = plain_table("name", "rule", "level", "source")
    table.columns[0].no_wrap = True
    for name, policy in policies().items():
        table.add_row(name, Text(policy.rule), policy.levels[0].value, Text(policy.source))
    show(table)


@app.command("show", cls=ReadableCommand, epilog=EXAMPLES)
def show_policy(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of a policy, or ./FILE.py:CLASS.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show one policy: what it does, its settings, what it needs to know, where it comes from."""
    from headgate.policies.catalogue import details
    from headgate.policies.registry import find
    from headgate.policy_files import load_policies

    load_policies(name)
    policy = find(Spec.parse(name).name)
    if as_json or context.obj:
        show_json(details(policy))
    else:
        _show_details(policy)


def _show_details(policy: type[Policy]) -> None:
    from headgate.policies.catalogue import description, meaning

    settings = plain_table("setting", "default", "meaning")
    for setting in policy.all_settings():
        choices = f" ({', '.join(setting.choices)})" if len(setting.choices) > 1 else ""
        settings.add_row(setting.name, Text(_written(setting.default)), Text(setting.meaning + choices))
    facts = plain_table("", "")
    facts.show_header, facts.box = False, None
    for name, value in (("rule", policy.rule), ("source", policy.source)):
        if value:  # a policy of the user's own may say neither
            facts.add_row(Text(name, "bold"), Text(value))
    needs = [f"{need}: {meaning(need)}" for need in sorted(policy.needs)]
    facts.add_row(Text("needs", "bold"), Text("\n".join(needs) or "nothing but arrivals"))
    show(Text(policy.name, "bold"), "", Padding(Text(description(policy)), (0, 2)), "", facts, "", settings)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
