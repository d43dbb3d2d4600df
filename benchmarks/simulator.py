"""How fast the simulator is, beside the same model written directly in SimPy; both in one run.

The model is that of Sharaf et al. 2006, section 8 (`workloads/sharaf.toml`): one core, 500 queries of select, join with
a stored table and project on one stream with bursts, load 0.9. A tuple execution is one query working on one tuple.
SimPy's models (`benchmarks/simpy_models.py`) are the least ones: a server process, the policy's own structure, drawn
outcomes and the mean response time. Headgate's records every result.

    python -m benchmarks.simulator [--tuples 1000] [--repeat 3] [--json]
    python -m benchmarks.simulator --path general     # the general simulator instead of compiled code
    python -m benchmarks.simulator --memory           # ten million tuple executions, peak memory
    python -m benchmarks.simulator --aggregate 1e9    # so many tuple executions, results counted as they come
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import simpy_models

from headgate.sim import aggregate, simulate
from headgate.workload import Workload, read_workload

FILE = Path(__file__).parents[1] / "workloads" / "sharaf.toml"
RATE = 50.0  # tuples per second of the file
TARGETS = {"fcfs": 20.0, "hnr": 20.0, "bsd": 20.0, "rr": 10.0, "mbd": 10.0}  # times the speed of SimPy
COMPILED = 80  # times as many tuples as SimPy gets, so that both take seconds


def model(tuples: float) -> Workload:
    """The model, as long as it takes for about so many tuples to arrive."""
    workload = read_workload(FILE)
    return replace(workload, duration=tuples / RATE)


def speed(run: Callable[[], int]) -> float:
    began = time.perf_counter()
    executions = run()
    return executions / (time.perf_counter() - began)


def in_headgate(workload: Workload, policy: str, path: str) -> int:
    records = simulate(workload, policy, path=path)
    return sum(records.tuples_in.values()) * len(workload.queries)


def compare(tuples: int, repeat: int, path: str) -> dict[str, dict[str, float]]:
    """The best of some runs of each, in turns."""
    table: dict[str, dict[str, float]] = {}
    workload, longer = model(tuples), model(tuples * (COMPILED if path == "compiled" else 1))
    for policy, target in TARGETS.items():
        if path == "compiled":
            simulate(workload, policy, path=path)  # loads the code, and compiles it the first time
        peers, ours = [], []
        for _ in range(repeat):
            peers.append(speed(lambda policy=policy: simpy_models.run(workload, policy)))  # type: ignore[misc]
            ours.append(speed(lambda policy=policy: in_headgate(longer, policy, path)))  # type: ignore[misc]
        ratio = max(ours) / max(peers)
        table[policy] = {"simpy": max(peers), "headgate": max(ours), "ratio": ratio, "target": target}
    return table


def memory(executions: int, path: str) -> dict[str, float]:
    workload = model(executions / 500)
    began = time.perf_counter()
    ran = in_headgate(workload, "hnr", path)
    return {"executions": ran, "seconds": time.perf_counter() - began, "peak_gib": _peak()}


def aggregated(executions: float, path: str) -> dict[str, float]:
    workload = model(executions / 500)
    began = time.perf_counter()
    counted = aggregate(workload, "hnr", path=path)
    ran = sum(counted.records.tuples_in.values()) * len(workload.queries)
    slowdown = counted.report().value("slowdown.mean") or 0.0
    seconds = time.perf_counter() - began
    return {"executions": ran, "seconds": seconds, "peak_gib": _peak(), "mean_slowdown": slowdown}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=int, default=1000, help="arrivals in each run of SimPy")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--path", choices=("compiled", "general"), default="compiled")
    parser.add_argument("--memory", action="store_true", help="ten million tuple executions and the peak memory")
    parser.add_argument("--aggregate", type=float, help="so many tuple executions, and the peak memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any]
    if options.aggregate:
        result = aggregated(options.aggregate, options.path)
    elif options.memory:
        result = memory(10_000_000, options.path)
    else:
        result = compare(options.tuples, options.repeat, options.path)
    if options.json:
        print(json.dumps(result))
    elif "executions" in result:
        print(
            f"{result['executions']:,} tuple executions in {result['seconds']:.1f} s, "
            f"peak memory {result['peak_gib']:.2f} GiB"
        )
    else:
        show(result, options.path)


def show(table: dict[str, Any], path: str) -> None:
    print(f"tuple executions per second, millions; Headgate's path: {path}")
    for policy, row in table.items():
        wanted = f" (at least {row['target']:.0f} wanted)" if path == "compiled" else ""
        print(
            f"  {policy:5} simpy {row['simpy'] / 1e6:6.3f}   headgate {row['headgate'] / 1e6:7.3f}"
            f"   ratio {row['ratio']:6.2f}{wanted}"
        )


if __name__ == "__main__":
    main()
