"""`headgate what-if`: what another policy or setting would have made of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli import options
from headgate.cli.console import examples, interrupted, note, show_json
from headgate.cli.history_source import OptionalSource, read_source
from headgate.cli.progress import Bar
from headgate.cli.remote import insight
from headgate.cli.remote.server import ask_server
from headgate.cli.signals import raised
from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from headgate.what_if.comparison import Comparison
    from headgate.what_if.learned import Learned
    from headgate.what_if.question import Changed
    from headgate.what_if.response_times import Judged

EXAMPLES = examples(
    "what-if out/plant --policy fcfs --policy mbd --policy express",
    "what-if out/plant --workers 4 --rate 1.5",
    "what-if t.jsonl --policy hnr --priority critical=80 --by critical.p95 --plot what-if.png",
    "what-if out/plant --add new.sql --add-class normal --json",
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


def what_if(
    recorded: OptionalSource = None,
    policy: options.Policies = None,
    fuse: FuseOption = None,
    priority: Priority = None,
    workers: Workers = None,
    add: Add = None,
    add_class: AddClass = None,
    rate: Rate = 1.0,
    by: By = None,
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
        _refuse_local({"--seed": seed, "--jobs": jobs, "--plot": plot})
        insight.what_if(
            policy or [], fuse, _priorities(priority or []), workers, add or [], add_class, rate, by, as_json
        )
        return
    assert recorded is not None
    _replay(recorded, policy, fuse, priority, workers, add, add_class, rate, by, seed, jobs, as_json, plot)


def _refuse_local(options: dict[str, object]) -> None:
    """Refuse options that belong to a replay on this machine."""
    for name, value in options.items():
        if value is not None:
            raise HeadgateError(f"{name} does not go to a server", hint="leave it out, or give a directory")


def _replay(
    recorded: Path,
    policy: list[str] | None,
    fuse: str | None,
    priority: list[str] | None,
    workers: int | None,
    add: list[Path] | None,
    add_class: str | None,
    rate: float,
    by: str | None,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    from headgate.what_if.comparison import Comparison, check_measure
    from headgate.what_if.question import Changed, query_of_file

    given = options.check_policies(policy or [])
    options.check_plot(plot)
    options.check_seed(seed)
    _check_numbers(workers, rate, jobs)
    fused = None if fuse is None else options.choice(Fuse, fuse, "value for --fuse")
    priorities = _priorities(priority or [])
    learned = _learn(recorded, given)
    added = tuple(query_of_file(path, learned, add_class) for path in add or [])
    changed = Changed(fused, priorities, workers, added, rate, seed or 0)
    changed.check(learned)
    measure = by or ("targets" if learned.recorded.targets else "mean")
    check_measure(measure, learned.recorded)
    asked = given or ([learned.settings.last.policy] if changed.anything else [])
    if not asked:
        raise HeadgateError(
            "nothing is to be different", hint="add --policy fcfs, or --workers, --rate, --fuse, --priority or --add"
        )
    replayed, finished, failed, complete = _replays(learned, asked, changed, jobs)
    if replayed is not None:
        comparison = Comparison(learned.recorded, replayed, {one: finished[one] for one in asked if one in finished})
        _tell(comparison, measure, recorded, as_json, plot, failed)
    if not complete:
        raise interrupted(len(finished), len(asked))
    if failed and not finished:
        raise typer.Exit(2)


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


def _learn(recorded: Path, policies: Sequence[str]) -> Learned:
    """What a directory or a trace tells."""
    from headgate.core.trace import replayable
    from headgate.policy_files import load_policies
    from headgate.what_if.learned import Learned

    if not recorded.exists():
        raise HeadgateError(
            "there is no such directory or trace", where=str(recorded), hint="give the directory of headgate run"
        )
    files = [file.name for text in policies for file in load_policies(text)]
    history = read_source(recorded, files)
    try:
        for setting in history.settings:
            replayable(setting.header["policy"], files)
        return Learned.of(history)
    except HeadgateError as error:
        raise error.at(str(recorded)) from None


def _replays(
    learned: Learned, asked: Sequence[str], changed: Changed, jobs: int | None
) -> tuple[Judged | None, dict[str, Judged], dict[str, str], bool]:
    """The recorded policy replayed, the others, those that failed with why, and whether all have been replayed."""
    from headgate.cli.parallel_replays import RECORDED, replay_all

    replayed: Judged | None = None
    finished: dict[str, Judged] = {}
    failed: dict[str, str] = {}
    try:
        with raised(), Bar(1 + len(asked)) as bar:
            for policy, judged in replay_all(learned, asked, changed, jobs, bar.at):
                if isinstance(judged, HeadgateError):
                    if policy == RECORDED:
                        raise judged
                    failed[policy] = str(judged)
                elif policy == RECORDED:
                    replayed = judged
                else:
                    finished[policy] = judged
                bar.at((replayed is not None) + len(finished) + len(failed), policy)
    except KeyboardInterrupt:
        return replayed, finished, failed, False
    return replayed, finished, failed, True


def _tell(
    comparison: Comparison, by: str, recorded: Path, as_json: bool, plot: Path | None, failed: dict[str, str]
) -> None:
    from headgate.cli.what_if_table import show_comparison
    from headgate.what_if.picture import draw

    if as_json:
        show_json(comparison.to_json(by) | {"failed": failed})
    else:
        show_comparison(comparison, by, str(recorded))
    for policy, error in failed.items():
        note(f"failed {policy}: {error}")
    if plot is not None and comparison.policies:
        draw(comparison, by, plot)
        note(f"wrote {plot}")
