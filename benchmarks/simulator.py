"""How fast the simulator is, beside the same model written directly in SimPy; both in one run.

One core, 500 queries of one filter each, Poisson arrivals, every tuple goes to all queries, load 0.9. A tuple
execution is one query working on one tuple. SimPy's model is the least one: a server process, a heap of ready
queries, drawn outcomes and the mean response time; Headgate's goes through the general core, recording off.

    python benchmarks/simulator.py [--tuples 1000] [--repeat 3] [--json]
    python benchmarks/simulator.py --memory        # ten million tuple executions, peak memory
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from typing import Any

import simpy

from headgate.model import Given, Query, QueryClass, Select, Source, Stream
from headgate.sim import simulate
from headgate.workload import Workload

QUERIES = 500
LOAD = 0.9


def model(tuples: int) -> Workload:
    """The model, sized so that about so many tuples arrive."""
    rng = random.Random(1)
    costs = [2.0 ** rng.randint(0, 4) * 1e-6 for _ in range(QUERIES)]
    rate = LOAD / sum(costs)
    queries = tuple(
        Query(
            name=f"q{number}",
            query_class="all",
            plan=Select(inputs=(Source("s"),), given=Given(cost=cost, selectivity=rng.uniform(0.1, 1.0))),
        )
        for number, cost in enumerate(costs)
    )
    stream = Stream(name="s", arrivals=f"poisson, rate={rate}")
    return Workload(
        name="benchmark", duration=tuples / rate, streams=(stream,), classes=(QueryClass("all"),), queries=queries
    )


def in_simpy(workload: Workload, policy: str) -> int:
    """The same model in SimPy; how many tuple executions it took."""
    given = [query.plan.given for query in workload.queries]
    key = _key(policy, given)
    rate = float(str(workload.streams[0].arrivals).split("=")[1])
    rng = random.Random(1)
    env = simpy.Environment()
    queues: list[list[float]] = [[] for _ in given]
    heads = [0] * len(given)
    ready: list[tuple[float, int]] = []
    busy = [False] * len(given)
    waker = [env.event()]
    responses: list[float] = []
    executions = 0

    def source() -> Generator[Any, Any, None]:
        while True:
            yield env.timeout(rng.expovariate(rate))
            if env.now >= workload.duration:
                return
            for number, queue in enumerate(queues):
                queue.append(env.now)
                if len(queue) - heads[number] == 1 and not busy[number]:
                    heappush(ready, (key(number, env.now), number))
            if not waker[0].triggered:
                waker[0].succeed()

    def server() -> Generator[Any, Any, None]:
        nonlocal executions
        while True:
            if not ready:
                waker[0] = env.event()
                yield waker[0]
            _, number = heappop(ready)
            arrival = queues[number][heads[number]]
            heads[number] += 1
            busy[number] = True
            yield env.timeout(given[number].cost)
            busy[number] = False
            executions += 1
            if rng.random() < (given[number].selectivity or 0.0):
                responses.append(env.now - arrival)
            if heads[number] < len(queues[number]):
                heappush(ready, (key(number, queues[number][heads[number]]), number))

    env.process(source())
    env.process(server())
    env.run()
    return executions


def _key(policy: str, given: list[Given]) -> Callable[[int, float], float]:
    if policy == "fcfs":
        return lambda number, arrival: arrival
    priorities = [-(each.selectivity or 0.0) / each.cost**2 for each in given]
    return lambda number, arrival: priorities[number]


def in_headgate(workload: Workload, policy: str) -> int:
    return simulate(workload, policy).runs


def speed(run: Callable[[Workload, str], int], workload: Workload, policy: str) -> float:
    began = time.perf_counter()
    executions = run(workload, policy)
    return executions / (time.perf_counter() - began)


def compare(tuples: int, repeat: int) -> dict[str, dict[str, float]]:
    workload = model(tuples)
    table: dict[str, dict[str, float]] = {}
    for policy in ("fcfs", "hnr"):
        pairs = [(speed(in_simpy, workload, policy), speed(in_headgate, workload, policy)) for _ in range(repeat)]
        peer, ours = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
        table[policy] = {"simpy": peer, "headgate": ours, "ratio": ours / peer}
    return table


def memory(executions: int) -> dict[str, float]:
    ran = in_headgate(model(executions // QUERIES), "hnr")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"executions": ran, "peak_gib": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=int, default=1000, help="arrivals in each run")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--memory", action="store_true", help="ten million tuple executions and the peak memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = memory(10_000_000) if options.memory else compare(options.tuples, options.repeat)
    if options.json:
        print(json.dumps(result))
    elif options.memory:
        print(f"{result['executions']:,} tuple executions, peak memory {result['peak_gib']:.2f} GiB")
    else:
        print("tuple executions per second, millions")
        for policy, row in result.items():
            print(
                f"  {policy:5} simpy {row['simpy'] / 1e6:.3f}   headgate {row['headgate'] / 1e6:.3f}"
                f"   ratio {row['ratio']:.2f}"
            )


if __name__ == "__main__":
    main()
