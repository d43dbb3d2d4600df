"""`headgate sweep`: a workload under policies over a range of settings and seeds, as tasks of one Spark job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli import options
from headgate.cli.compare import check_measure
from headgate.cli.console import INTERRUPTED, Bar, examples, note, show_json
from headgate.cli.kept import Kept, key
from headgate.cli.simulate import DEFAULT
from headgate.model import HeadgateError

if TYPE_CHECKING:
    from headgate.sim.varying import Point, Vary
    from headgate.spark.sweep import Task
    from headgate.workload import Workload

EXAMPLES = examples(
    "sweep FILE --policy hr --policy hnr --vary load=0.5:0.95:0.05 --seeds 10",
    "sweep FILE -p bsd --vary policy.clusters=4,8,12,16 --measure slowdown.l2",
    "sweep FILE -p mbd --vary cores=2,4,8 --vary rate=600:1800:300 --json",
    "sweep FILE --vary load=0.5:1.0:0.05 --master spark://host:7077 --out loads",
)
MEASURES = ("response_time.mean", "response_time.p95", "slowdown.mean", "queue.tuples.mean", "qos.mean", "utilisation")

VaryOption = Annotated[
    list[str],
    typer.Option(
        "--vary",
        help="A setting and its values, low:high:step or a,b,c: load, rate (of every stream), cores, seed, or a "
        "setting of the policies as policy.NAME. Repeat for every combination.",
        show_default=False,
        metavar="SETTING=VALUES",
    ),
]
Seeds = Annotated[int, typer.Option("--seeds", help="Runs of each combination, from the workload's seed on.")]
MeasureOption = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure to show and draw; repeat for more.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Folder of the results; out/NAME-sweep if not given.", show_default=False),
]
Master = Annotated[str, typer.Option("--master", help="Which Spark: this machine, or a cluster.", metavar="URL")]


@dataclass(frozen=True, slots=True)
class Row:
    """One finished simulation."""

    policy: str
    point: Point
    seed: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is to be run, and what has been found."""

    workload: Workload
    varied: Sequence[Vary]  # seeds aside
    seeds: Sequence[int]
    tasks: Mapping[str, Task]

    def rows(self, values: Mapping[str, Mapping[str, Any]]) -> list[Row]:
        """Finished simulations in the order in which they were asked for."""
        done = [task for name, task in self.tasks.items() if name in values]
        return [Row(task.policy, task.point, task.seed, values[task.key]) for task in done]


def sweep(
    file: options.File,
    vary: VaryOption,
    policy: options.Policies = None,
    seeds: Seeds = 1,
    measure: MeasureOption = None,
    out: Out = None,
    master: Master = "local[*]",
    as_json: options.AsJson = False,
    duration: options.Duration = None,
    fuse: options.FuseOption = None,
    bin: options.Bin = None,
) -> None:
    """Simulate policies over a range of settings and seeds, as tasks of one Spark job.

    Writes one Parquet table and a picture of each measure into a folder. What is finished is kept there: Ctrl-C loses
    nothing, and the same command again runs only what is missing.
    """
    chosen = options.check_policies(policy or DEFAULT)
    width = options.check_bin(bin)
    workload = options.load(file, None, duration, fuse)
    for path in measure or ():
        check_measure(workload, path)
    plan = _plan(workload, chosen, vary, seeds, (_text(file), duration, fuse, width))
    folder = Path("out") / f"{workload.name}-sweep" if out is None else out
    kept = Kept(folder)
    failed, complete = _run(plan, kept, master, width)
    rows = plan.rows(kept.of(plan.tasks))
    written = _write(plan, rows, measure or MEASURES, folder) if rows else []
    if as_json:
        show_json(_as_json(plan, rows, failed, written))
    elif rows:
        from headgate.cli.curves import show_sweep

        show_sweep(workload.name, [each.name for each in plan.varied], rows, measure or MEASURES)
    _tell(plan, rows, failed, written, complete)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _plan(workload: Workload, policies: Sequence[str], vary: Sequence[str], seeds: int, same: object) -> Sweep:
    """Every combination, checked; `same` is what else decides the results."""
    from headgate.policies.registry import create
    from headgate.sim.varying import Vary, points, varied, varied_policy
    from headgate.spark.sweep import Task

    given = [Vary.parse(text) for text in vary]
    for number, each in enumerate(given):
        if any(other.name == each.name for other in given[:number]):
            raise HeadgateError(f"--vary {each.name} is given twice", hint="write all of its values in one")
    numbers = _seeds(workload, given, seeds)
    plain = [each for each in given if each.name != "seed"]
    tasks = {}
    for point in points(plain):
        varied(workload, point)  # refuses what cannot be
        for policy in policies:
            create(varied_policy(policy, point))
            for seed in numbers:
                name = key(same, policy, point, seed)
                tasks[name] = Task(name, policy, point, seed)
    return Sweep(workload, plain, numbers, tasks)


def _seeds(workload: Workload, given: Sequence[Vary], seeds: int) -> list[int]:
    if seeds < 1:
        raise HeadgateError(f"--seeds must be at least 1, found {seeds}", hint="leave it out for one run of each")
    said = next((each for each in given if each.name == "seed"), None)
    if said is None:
        return [workload.seed + number for number in range(seeds)]
    if seeds > 1:
        raise HeadgateError("--seeds and --vary seed both say which seeds", hint="keep one of them")
    return [int(value) for value in said.values]


def _run(plan: Sweep, kept: Kept, master: str, bin: float) -> tuple[dict[str, str], bool]:
    """Run what is missing; what failed, and whether everything was tried."""
    there = kept.of(plan.tasks)
    missing = [task for name, task in plan.tasks.items() if name not in there]
    if there:
        note(f"{len(there)} of {len(plan.tasks)} simulations are finished already")
    failed: dict[str, str] = {}
    try:
        with Bar(len(plan.tasks), patience=0.0, what="simulations") as bar:
            bar.at(len(there))
            for number, (name, values, error) in enumerate(_finished(plan, missing, kept, master, bin), len(there) + 1):
                if error:
                    failed[name] = error
                else:
                    kept.put(name, values)
                bar.at(number, plan.tasks[name].policy)
    except KeyboardInterrupt:
        return failed, False
    return failed, True


def _finished(
    plan: Sweep, missing: Sequence[Task], kept: Kept, master: str, bin: float
) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    if not missing:
        return
    from headgate.cli.run import start_spark
    from headgate.spark.sweep import run_tasks

    spark = start_spark(master, kept.folder / "spark.log")
    try:
        for done in run_tasks(spark.sparkContext, plan.workload, missing, bin):
            yield done.key, done.values, done.error
    finally:
        spark.stop()


def _write(plan: Sweep, rows: Sequence[Row], measures: Sequence[str], folder: Path) -> list[Path]:
    from headgate.cli.curves import draw_sweep, write_table

    table = write_table(rows, folder / "sweep.parquet")
    names = [each.name for each in plan.varied]
    return [table, *(draw_sweep(plan.workload.name, names, rows, measures, folder) if names else ())]


def _as_json(plan: Sweep, rows: Sequence[Row], failed: Mapping[str, str], written: Sequence[Path]) -> dict[str, Any]:
    return {
        "workload": plan.workload.name,
        "varied": {each.name: list(each.values) for each in plan.varied},
        "seeds": list(plan.seeds),
        "results": [
            {"policy": row.policy, "settings": dict(row.point), "seed": row.seed, "measures": row.values}
            for row in rows
        ],
        "failed": [{**_which(plan.tasks[name]), "error": error} for name, error in failed.items()],
        "unfinished": len(plan.tasks) - len(rows) - len(failed),
        "files": [str(path) for path in written],
    }


def _which(task: Task) -> dict[str, Any]:
    return {"policy": task.policy, "settings": dict(task.point), "seed": task.seed}


def _tell(plan: Sweep, rows: Sequence[Row], failed: Mapping[str, str], written: Sequence[Path], complete: bool) -> None:
    for name, error in failed.items():
        task = plan.tasks[name]
        where = ", ".join(f"{setting}={value}" for setting, value in task.point.items())
        note(f"failed {task.policy} at {where}, seed {task.seed}: {error}")
    if written:
        note(f"wrote {written[0]}" + (f" and {len(written) - 1} pictures beside it" if written[1:] else ""))
    if not complete:
        note(f"headgate: interrupted, {len(rows)} of {len(plan.tasks)} simulations finished; run it again to go on")
        raise typer.Exit(INTERRUPTED)
    if failed and not rows:
        raise typer.Exit(2)
