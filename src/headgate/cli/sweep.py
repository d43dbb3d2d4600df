"""`headgate sweep`: a workload under policies over a range of settings and seeds, as tasks of one Spark job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli import options
from headgate.cli.compare import check_measure
from headgate.cli.console import examples, note, show_json
from headgate.cli.resumed_tasks import run_missing
from headgate.cli.signals import exit_code
from headgate.cli.simulate import DEFAULT
from headgate.sweep.finished_results import FinishedResults

if TYPE_CHECKING:
    from pyspark import SparkContext

    from headgate.sweep.plan import Sweep, SweepRow
    from headgate.sweep.spark_tasks import SweepResult, SweepTask

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
Seeds = Annotated[
    int, typer.Option("--seeds", help="Runs of each combination, from the workload's seed on.", metavar="N")
]
MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help="A measure to show and draw; repeat for more.", show_default=False, metavar="MEASURE"
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder of the results; out/NAME-sweep if not given.", show_default=False, metavar="DIR"
    ),
]
Master = Annotated[str, typer.Option("--master", help="Which Spark: this machine, or a cluster.", metavar="URL")]


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
    from headgate.sweep.plan import plan_sweep

    chosen = options.check_policies(policy or DEFAULT)
    width = options.check_bin(bin)
    workload = options.load(file, None, duration, fuse)
    options.note_unpriced(workload)
    for path in measure or ():
        check_measure(workload, path)
    plan = plan_sweep(workload, chosen, vary, seeds, (_text(file), duration, fuse, width), bin=width)
    folder = Path("out") / f"{workload.name}-sweep" if out is None else out
    finished = FinishedResults(folder)
    failed, complete = _run_missing(plan, finished, master, width)
    rows = plan.rows(finished.of(plan.tasks))
    written = _write(plan, rows, measure or MEASURES, folder) if rows else []
    if as_json:
        show_json(_as_json(plan, rows, failed, written))
    elif rows:
        from headgate.cli.sweep_tables import show_sweep

        show_sweep(workload.name, plan.varied_names, rows, measure or MEASURES)
    _summarize(plan, rows, failed, written, complete)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _run_missing(plan: Sweep, finished: FinishedResults, master: str, bin: float) -> tuple[dict[str, str], bool]:
    """Run the simulations that have no result yet; return errors by key, and whether every simulation was tried."""

    def run(context: SparkContext, missing: Sequence[SweepTask]) -> Iterator[SweepResult]:
        from headgate.sweep.spark_tasks import run_tasks

        return run_tasks(context, plan.workload, missing, bin, plan.files)

    return run_missing(plan.tasks, finished, master, run, told=lambda key, error: plan.tasks[key].policy)


def _write(plan: Sweep, rows: Sequence[SweepRow], measures: Sequence[str], folder: Path) -> list[Path]:
    from headgate.sweep.curves import draw_sweep
    from headgate.sweep.result_table import write_table

    table = write_table(rows, folder / "sweep.parquet")
    names = plan.varied_names
    return [table, *(draw_sweep(plan.workload.name, names, rows, measures, folder) if names else ())]


def _as_json(
    plan: Sweep, rows: Sequence[SweepRow], failed: Mapping[str, str], written: Sequence[Path]
) -> dict[str, Any]:
    return {
        "workload": plan.workload.name,
        "varied": {setting.name: list(setting.values) for setting in plan.varied},
        "seeds": list(plan.seeds),
        "results": [
            {"policy": row.policy, "settings": dict(row.point), "seed": row.seed, "measures": row.values}
            for row in rows
        ],
        "failed": [{**_task_json(plan.tasks[key]), "error": error} for key, error in failed.items()],
        "unfinished": len(plan.tasks) - len(rows) - len(failed),
        "files": [str(path) for path in written],
    }


def _task_json(task: SweepTask) -> dict[str, Any]:
    return {"policy": task.policy, "settings": dict(task.point), "seed": task.seed}


def _summarize(
    plan: Sweep, rows: Sequence[SweepRow], failed: Mapping[str, str], written: Sequence[Path], complete: bool
) -> None:
    for key, error in failed.items():
        task = plan.tasks[key]
        where = ", ".join(f"{setting}={value}" for setting, value in task.point.items())
        note(f"failed {task.policy} at {where}, seed {task.seed}: {error}")
    if written:
        note(f"wrote {written[0]}" + (f" and {len(written) - 1} pictures beside it" if written[1:] else ""))
    if not complete:
        note(f"headgate: interrupted, {len(rows)} of {len(plan.tasks)} simulations finished; run it again to go on")
        raise typer.Exit(exit_code())
    if failed and not rows:
        raise typer.Exit(2)
