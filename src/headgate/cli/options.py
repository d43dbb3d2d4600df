"""Arguments and options that several commands share, and checks of them before a long run begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headgate.cli.console import note
from headgate.cli.number_format import read_duration
from headgate.model import HeadgateError, Kind, unknown
from headgate.plan.fusion import Fuse

if TYPE_CHECKING:
    from headgate.workload import Workload

Choice = TypeVar("Choice", bound=StrEnum)


def policy_names() -> list[str]:
    """What the shell offers for a policy."""
    from headgate.policies.registry import policies

    return list(policies())


def values_of(kind: type[StrEnum]) -> Callable[[], list[str]]:
    """What the shell offers for an option that takes one of an enumeration's values."""
    return lambda: [member.value for member in kind]


File = Annotated[Path, typer.Argument(help="Workload file (TOML).", show_default=False, metavar="FILE")]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        help='A policy with its settings, as "bsd, train=10" or ./mine.py:Mine; repeat for more.',
        show_default=False,
        metavar="POLICY",
        autocompletion=policy_names,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to stdout.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Draw response times to this file: .png, .svg or .pdf.", show_default=False, metavar="FILE"
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Another seed than the workload's.", show_default=False, metavar="N")
]
Duration = Annotated[
    str | None,
    typer.Option("--duration", help='Another duration, as "10 s".', show_default=False, metavar="TIME"),
]
FuseOption = Annotated[
    str | None,
    typer.Option(
        "--fuse",
        help="Which queries share a unit, if not as in the file.",
        show_default=False,
        metavar="off|class|all",
        autocompletion=values_of(Fuse),
    ),
]
EqualInverts = Annotated[
    bool,
    typer.Option(
        "--equal-inverts", help="Count a class that answers just as late as a less important one as inverted, too."
    ),
]
Bin = Annotated[
    float | None,
    typer.Option(
        "--bin", help="Seconds of a bin in measures over time; 0.1 if not given.", show_default=False, metavar="SECONDS"
    ),
]

SimulationPath = Annotated[
    str,
    typer.Option(
        "--path",
        help="How to compute: auto, compiled or general. Compiled code gives the same results sooner, where it can.",
        metavar="PATH",
    ),
]

Directory = Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False, metavar="DIR")]
OptionalDirectory = Annotated[
    Path | None, typer.Argument(help="The directory of a run.", show_default=False, metavar="DIR")
]
Rows = Annotated[int | None, typer.Option("--rows", help="How many, the newest ones.", show_default=False, metavar="N")]


def load(file: Path, seed: int | None = None, duration: str | None = None, fuse: str | None = None) -> Workload:
    """The workload of a file, with the values that options override."""
    from headgate.workload.reader import read_workload

    check_seed(seed)
    longer = None if duration is None else read_duration(duration, "--duration")
    fused = None if fuse is None else choice(Fuse, fuse, "value for --fuse")
    workload = read_workload(file)
    said = {"seed": seed, "duration": longer, "fuse": fused}
    return replace(workload, **{name: value for name, value in said.items() if value is not None})  # type: ignore[arg-type]


def load_simulated(
    file: Path,
    seed: int | None = None,
    duration: str | None = None,
    fuse: str | None = None,
    *,
    bin: float,
    any_size: bool = False,
) -> Workload:
    """As `load`; refuses a workload that is too large for the simulator, and notes costs that are missing."""
    from headgate.sim import check_size
    from headgate.sim.policy_fit import target_problems
    from headgate.workload.workload_locations import WorkloadLocations

    workload = load(file, seed, duration, fuse)
    note_unpriced(workload)
    try:
        if not any_size:
            check_size(workload, bin)
    except HeadgateError as error:
        raise error.at(str(file)) from None
    for problem in target_problems(workload, WorkloadLocations.of_file(file)):
        raise problem
    return workload


def note_unpriced(workload: Workload) -> None:
    """Print a note if operators from SQL have no cost: the simulator then takes them for free."""
    if workload.unpriced:
        filtering = Kind.SELECT in workload.unpriced
        assumed = "they take no time" + (" and filters let every tuple through" if filtering else "")
        example = 'select = "cost=20us, selectivity=0.5"' if filtering else f'{workload.unpriced[0]} = "cost=20us"'
        kinds = ", ".join(workload.unpriced)
        note(f"no [costs] for {kinds}: in the simulator {assumed}; write for example {example} below [costs]")


def check_path(path: str) -> str:
    """Refuse a path that there is not."""
    from headgate.sim import PATHS

    if path not in PATHS:
        raise unknown("path", path, PATHS)
    return path


def check_seed(seed: int | None) -> None:
    """Refuse a negative seed."""
    if seed is not None and seed < 0:
        raise HeadgateError(f"--seed must be at least 0, found {seed}", hint="write for example 1")


def choice(kind: type[Choice], text: str, what: str) -> Choice:
    """One of an enumeration's values, by its text."""
    try:
        return kind(text)
    except ValueError:
        raise unknown(what, text, [member.value for member in kind]) from None


def check_policies(texts: Iterable[str]) -> list[str]:
    """The policies as given, without duplicates, those of files loaded; refuses unknown ones."""
    from headgate.policies.registry import create
    from headgate.policy_files import load_policies

    given = list(dict.fromkeys(texts))
    for text in given:
        load_policies(text)
        create(text)
    return given


def check_isolated(policies: Iterable[str], workload: Workload) -> None:
    """Refuse settings that cannot keep the classes of a workload apart, before the first simulation."""
    from headgate.sim.load import scaled
    from headgate.sim.policy_fit import check_isolated

    simulated = scaled(workload)
    for policy in policies:
        check_isolated(policy, simulated)


def check_bin(bin: float | None) -> float:
    """The width of a bin, or the usual one."""
    from headgate.metrics.measures.over_time import BIN

    width = BIN if bin is None else bin
    if not 0 < width < float("inf"):
        raise HeadgateError(f"--bin must be more than 0 seconds, found {width:g}", hint="write for example 0.1")
    return width


def check_output(path: Path | None, option: str, kinds: Iterable[str] = ()) -> None:
    """Refuse an output file that could not be written, before anything long begins."""
    if path is None:
        return
    endings = [f".{kind}" for kind in kinds]
    if endings and path.suffix.lower() not in endings:
        raise HeadgateError(f"{option} cannot write '{path}'", hint=f"use a name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise HeadgateError(f"{option}: there is no folder '{path.parent}'", hint="make it, or choose another one")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise HeadgateError(f"{option} may not write '{path}'", hint="choose another path")


def check_plot(path: Path | None) -> None:
    """Refuse a picture that could not be drawn."""
    from headgate.metrics.pictures.writing import FORMATS

    check_output(path, "--plot", FORMATS)


def check_rows(rows: int | None) -> None:
    """Refuse a negative number of rows."""
    if rows is not None and rows < 0:
        raise HeadgateError(f"--rows must be at least 0, found {rows}", hint="leave it out, or write for example 100")


def check_directory(path: Path) -> None:
    """Refuse a directory that is no data directory of this version; reads only, takes no lock."""
    from headgate.spark.store.atomic_files import read_json
    from headgate.spark.store.directory import check_version

    file = path / "headgate.json"
    if not file.is_file():
        problem = "is not a directory of a run" if path.exists() else "there is no such directory"
        raise HeadgateError(problem, where=str(path), hint="give the one that headgate run named")
    check_version(read_json(file).get("format"), file)
