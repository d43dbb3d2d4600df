"""What it costs to write down decisions and runs all the time: its share of the engine's CPU.

    python benchmarks/history.py                     the plant at its own and at 5 times its rates, a minute each

Two runs of the same load differ by more than the history costs, so what it does is timed where it is done: explaining
each decision, making records, and writing them, in seconds of CPU of the threads that do it. Printed is that beside the
CPU of the whole program and of Java, in the same seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headgate.history.ring import HistoryRing
from headgate.policies.guarded import Guarded
from headgate.spark.jvm.settings import builder
from headgate.spark.machine.run_history import RunHistory
from headgate.spark.workload import open_workload
from headgate.workload import read_workload
from headgate.workload.rates import faster

PLANT = Path(__file__).parents[1] / "examples" / "plant.toml"
TIMED = (
    (Guarded, "explain"),
    *((RunHistory, name) for name in ("began", "committed", "ended", "arrived", "delivered")),
    *((HistoryRing, name) for name in ("write", "flush")),
)


class Stopwatch:
    """Adds up the CPU that some methods take, in whichever threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        for owner, name in TIMED:
            setattr(owner, name, self._timed(f"{owner.__name__}.{name}", getattr(owner, name)))

    def _timed(self, label: str, method: Callable[..., Any]) -> Callable[..., Any]:
        self.seconds[label] = 0.0

        def timed(*given: Any, **more: Any) -> Any:
            began = time.thread_time()
            try:
                return method(*given, **more)
            finally:
                self.seconds[label] += time.thread_time() - began

        return timed


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def java_of(process: int) -> int:
    """The Java process that a Python process has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process and (entry / "comm").read_text().strip() == "java":
                return int(entry.name)
        except (OSError, ValueError):
            continue
    raise SystemExit("no Java process was found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=[1, 5], help="times the rates of the file")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=20.0)
    parser.add_argument("--policy", default="express")
    options = parser.parse_args()
    watch = Stopwatch()
    spark = builder("local[*]", "history").config("spark.log.level", "ERROR").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    processes = [os.getpid(), java_of(os.getpid())]
    for rate in options.rates:
        with (
            tempfile.TemporaryDirectory(prefix="headgate-history-") as folder,
            open_workload(
                faster(read_workload(PLANT), rate), spark=spark, directory=f"{folder}/data", policy=options.policy
            ) as session,
        ):
            time.sleep(options.warm_up)
            runs, before, python = session.status().runs, dict(watch.seconds), [cpu_of(one) for one in processes]
            time.sleep(options.seconds)
            runs, own = session.status().runs - runs, sum(watch.seconds.values()) - sum(before.values())
            python = [cpu_of(one) - earlier for one, earlier in zip(processes, python, strict=True)]
            size = sum(path.stat().st_size for path in (Path(folder) / "data" / "history").iterdir())
        share = own / sum(python)
        print(
            f"{rate:g} ×: history {own:.2f} s of {sum(python):.1f} s of CPU ({python[0]:.1f} s Python), {share:.2%}; "
            f"{runs} runs, {1e6 * own / max(1, runs):.0f} µs each; {size / 1e6:.1f} MB"
        )
        for label, seconds in watch.seconds.items():
            print(f"    {label:22} {seconds - before[label]:.3f} s")
    spark.stop()


if __name__ == "__main__":
    main()
