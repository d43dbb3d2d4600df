"""`headgate what-if`: what another policy or setting would have made of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import options
from headgate.cli.console import examples, interrupted, note, show_json
from headgate.cli.history_source import OptionalSource, read_source
from headgate.cli.number_format import read_duration
from headgate.cli.progress import Bar
from headgate.cli.remote import insight
from headgate.cli.remote.server import ask_server
from headgate.cli.signals import raised
from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from headgate.what_if.ask import Answer, Inquiry
    from headgate.what_if.learned import Learned
    from headgate.what_if.response_times import Judged

EXAMPLES = examples(
    "what-if out/plant --policy fcfs --policy mbd --policy express",
    "what-if out/plant --workers 4 --rate 1.5",
    "what-if t.jsonl --policy hnr --priority critical=80 --by critical.p95 --plot what-if.png",
    'what-if out/plant --add new.sql --add-class normal --last "60 s" --json',
    "what-if out/plant --regret",
    "--server http://127.0.0.1:8440 what-if --policy fcfs",
)

FuseOption = Annotated[
    str | None,
    typer.Option(
        "--fuse",
        help="Which queries share a unit, if not as recorded.",
        show_default=False,
        metavar="off|class|all",
        autocompletion=options.values_of(Fuse),
    ),
]
Priority = Annotated[
    list[str] | None,
    typer.Option(
        "--priority", help="Another priority of a class; repeat for more.", show_default=False, metavar="CLASS=N"
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Another number of workers.", show_default=False, metavar="N")
]
Add = Annotated[
    list[Path] | None,
    typer.Option(
        "--add",
        help="A file with the SQL of one more query; costs are those of the most similar one. Repeat for more.",
        show_default=False,
        metavar="FILE",
    ),
]
AddClass = Annotated[
    str | None,
    typer.Option(
        "--add-class",
        help="The class of added queries, if no comment '-- class: NAME' says it.",
        show_default=False,
        metavar="CLASS",
    ),
]
Rate = Annotated[float, typer.Option("--rate", help="So many times as many tuples.", metavar="FACTOR")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="What ranks: mean, p50, p95, those of a class as critical.p95, or targets; "
        "targets if any query has one, else mean.",
        show_default=False,
        metavar="MEASURE",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Processes at a time; one per core if not given.", show_default=False, metavar="N"
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw classes by policy, recorded beside replayed, to this file: .png, .svg or .pdf.",
        show_default=False,
        metavar="FILE",
    ),
]


RegretOption = Annotated[
    bool,
    typer.Option(
        "--regret",
        help="Replay the candidates of adaptive too, and tell how far it is from the best; "
        "without --policy that is done if the recorded policy is adaptive.",
    ),
]
Last = Annotated[
    str | None,
    typer.Option("--last", help="Only the last part of the record.", show_default=False, metavar="TIME"),
]


def what_if(
    recorded: OptionalSource = None,
    policy: options.Policies = None,
    fuse: FuseOption = None,
    priority: Priority = None,
    workers: Workers = None,
    add: Add = None,
    add_class: AddClass = None,
    rate: Rate = 1.0,
    last: Last = None,
    by: By = None,
    regret: RegretOption = False,
    seed: options.Seed = None,
    jobs: Jobs = None,
    as_json: options.AsJson = False,
    plot: PlotOption = None,
) -> None:
    """Replay what was recorded under other policies or settings, and say what would have come of it.

    The recorded policy is replayed too: how far that is off, by class, is how far the rest can be believed. Without a
    directory or trace, the last minutes of the server that --server or HEADGATE_SERVER names.
    """
    if ask_server(recorded, "DIR or TRACE"):
        _check_numbers(workers, rate, jobs)
        _refuse_local({"--seed": seed, "--jobs": jobs, "--plot": plot, "--regret": regret or None})
        changes = insight.Changes(fuse, _priorities(priority or []), workers, add or [], add_class, rate, last, by)
        insight.what_if(policy or [], changes, as_json)
        return
    assert recorded is not None
    from headgate.what_if.ask import Inquiry, Question, conclude
    from headgate.what_if.question import Changed, query_of_file

    given = options.check_policies(policy or [])
    options.check_plot(plot)
    options.check_seed(seed)
    _check_numbers(workers, rate, jobs)
    fused = None if fuse is None else options.choice(Fuse, fuse, "value for --fuse")
    priorities = _priorities(priority or [])
    learned = _learn(recorded, given, None if last is None else read_duration(last, "--last"))
    added = tuple(query_of_file(path, learned, add_class) for path in add or [])
    changed = Changed(fused, priorities, workers, added, rate, seed or 0)
    inquiry = Inquiry.of(learned, Question(tuple(given), by=by, regret=regret), changed)
    done, complete = _replays(inquiry, jobs)
    if None in done:
        answer = conclude(inquiry, done.items())
        _tell(answer, recorded, as_json, plot)
        if complete and not answer.comparison.policies:
            raise typer.Exit(2)
    if not complete:
        raise interrupted(len([one for one in done if one is not None]), len(inquiry.policies))


def _refuse_local(given: dict[str, object]) -> None:
    """Refuse options that belong to a replay on this machine."""
    for name, value in given.items():
        if value is not None:
            raise HeadgateError(f"{name} does not go to a server", hint="leave it out, or give a directory")


def _check_numbers(workers: int | None, rate: float, jobs: int | None) -> None:
    if workers is not None and workers < 1:
        raise HeadgateError(f"--workers must be at least 1, found {workers}", hint="write for example 2")
    if not 0 < rate <= 1000:
        raise HeadgateError(f"--rate must be above 0 and at most 1000, found {rate:g}", hint="write for example 1.5")
    if jobs is not None and jobs < 1:
        raise HeadgateError(f"--jobs must be at least 1, found {jobs}", hint="leave it out for one per core")


def _priorities(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            priority = float(number)
        except ValueError:
            priority = -1.0
        if not name or not 0 < priority < float("inf"):
            raise HeadgateError(
                f"--priority wants a class and a number above 0, found '{text}'", hint="write critical=80"
            )
        found[name] = priority
    return found


def _learn(recorded: Path, policies: Sequence[str], last: float | None) -> Learned:
    """What a directory or a trace tells."""
    from headgate.core.trace import replayable
    from headgate.policy_files import load_policies
    from headgate.what_if.ask import learn

    if not recorded.exists():
        raise HeadgateError(
            "there is no such directory or trace", where=str(recorded), hint="give the directory of headgate run"
        )
    files = [file.name for text in policies for file in load_policies(text)]
    history = read_source(recorded, files)
    try:
        for setting in history.settings:
            replayable(setting.header["policy"], files)
        return learn(history, last)
    except HeadgateError as error:
        raise error.at(str(recorded)) from None


def _replays(inquiry: Inquiry, jobs: int | None) -> tuple[dict[str | None, Judged | HeadgateError], bool]:
    """What came of the replays by policy, None for the recorded one, and whether all have been done."""
    from headgate.cli.parallel_replays import RECORDED, replay_all

    done: dict[str | None, Judged | HeadgateError] = {}
    try:
        with raised(), Bar(1 + len(inquiry.policies)) as bar:
            for policy, judged in replay_all(inquiry, jobs, bar.at):
                if policy is None and isinstance(judged, HeadgateError):
                    raise judged
                done[policy] = judged
                bar.at(len(done), policy or RECORDED)
    except KeyboardInterrupt:
        return done, False
    return done, True


def _tell(answer: Answer, recorded: Path, as_json: bool, plot: Path | None) -> None:
    from headgate.cli.what_if_table import show_answer
    from headgate.what_if.picture import draw

    if as_json:
        show_json(answer.to_json())
    else:
        show_answer(answer, str(recorded))
    for policy, error in answer.failed.items():
        note(f"failed {policy}: {error}")
    if plot is not None and answer.comparison.policies:
        draw(answer.comparison, answer.inquiry.by, plot)
        note(f"wrote {plot}")
