"""The command line: its commands, and how errors are printed. A shell begins in `entry`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from headgate import __version__, logs
from headgate.cli import (
    check,
    compare,
    dead_letters,
    explain,
    journal,
    policies,
    reproduce,
    results,
    serve,
    simulate,
    sweep,
    tenants,
    tokens,
    trace,
    trace_show,
    what_if,
    why,
)
from headgate.cli import run as engine
from headgate.cli.console import examples, note
from headgate.cli.fresh import app as fresh
from headgate.cli.help_texts import ReadableCommand, ReadableGroup
from headgate.cli.remote import browser, classes, policy, queries, status, streams, tables
from headgate.cli.remote.server import ProfileOption, ServerOption, choose
from headgate.cli.signals import exit_code
from headgate.model import HeadgateError

SERVER = "Commands that ask a server"


class CommandGroup(ReadableGroup):
    """The commands; a user's error becomes one line on stderr instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except HeadgateError as error:
            raise _failed(str(error), 2) from None
        except KeyboardInterrupt:
            raise _failed("interrupted", exit_code()) from None
        except BrokenPipeError:
            raise  # typer ends quietly
        except OSError as error:
            raise _failed(_system(error), 2) from None
        return result


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "simulate FILE --policy fcfs --policy hnr",
        "compare FILE --by slowdown.mean",
        "sweep FILE --policy hnr --vary load=0.5:0.95:0.05 --seeds 10",
        "reproduce sharaf F5",
        "explain FILE --stage network",
        "policies show hnr",
        "run FILE --for 60s",
        "why QUERY DIR --worst",
        "what-if DIR --policy fcfs --policy mbd",
        "fresh plan FILE --bandwidth 1000",
        "serve --data DIR",
        "--server http://127.0.0.1:8440 query ls",
    ),
)
app.command("simulate", cls=ReadableCommand, epilog=simulate.EXAMPLES)(simulate.simulate)
app.command("compare", cls=ReadableCommand, epilog=compare.EXAMPLES)(compare.compare)
app.command("sweep", cls=ReadableCommand, epilog=sweep.EXAMPLES)(sweep.sweep)
app.command("reproduce", cls=ReadableCommand, epilog=reproduce.EXAMPLES)(reproduce.reproduce)
app.command("check", cls=ReadableCommand, epilog=check.EXAMPLES)(check.check)
app.command("explain", cls=ReadableCommand, epilog=explain.EXAMPLES)(explain.explain)
app.add_typer(policies.app, name="policies")
app.command("replay", cls=ReadableCommand, epilog=trace.REPLAY_EXAMPLES)(trace.replay)
app.command("why", cls=ReadableCommand, epilog=why.EXAMPLES)(why.why)
app.add_typer(trace_show.app, name="trace")
app.command("what-if", cls=ReadableCommand, epilog=what_if.EXAMPLES)(what_if.what_if)
app.command("run", cls=ReadableCommand, epilog=engine.EXAMPLES)(engine.run)
app.command("serve", cls=ReadableCommand, epilog=serve.EXAMPLES)(serve.serve)
app.add_typer(tokens.app, name="token")
app.add_typer(tenants.app, name="tenant")
app.command("results", cls=ReadableCommand, epilog=results.EXAMPLES)(results.results)
app.command("dead", cls=ReadableCommand, epilog=dead_letters.EXAMPLES)(dead_letters.dead)
app.command("journal", cls=ReadableCommand, epilog=journal.EXAMPLES)(journal.journal)
app.add_typer(fresh.app, name="fresh")
app.add_typer(streams.app, name="stream", rich_help_panel=SERVER)
app.add_typer(queries.app, name="query", rich_help_panel=SERVER)
app.add_typer(tables.app, name="table", rich_help_panel=SERVER)
app.add_typer(classes.app, name="class", rich_help_panel=SERVER)
app.add_typer(policy.app, name="policy", rich_help_panel=SERVER)
app.command("status", cls=ReadableCommand, epilog=status.EXAMPLES, rich_help_panel=SERVER)(status.status)
app.command("open", cls=ReadableCommand, epilog=browser.EXAMPLES, rich_help_panel=SERVER)(browser.open_server)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def front(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, show_default=False, help="Log what happens to stderr; -vv every detail."
        ),
    ] = 0,
    server: ServerOption = None,
    profile: ProfileOption = None,
) -> None:
    """Which continuous query runs next, and on how many tuples: simulate, compare, explain and run it."""
    choose(server, profile)
    if verbose:
        logs.configure("info" if verbose == 1 else "debug")
    else:
        logs.configure_from_environment()


def _failed(text: str, code: int) -> typer.Exit:
    note(f"headgate: {' '.join(text.split())}")
    return typer.Exit(code)


def _system(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"cannot use '{error.filename}': {reason}; check the path" if error.filename else reason
