"""Drives a compiled simulation: gives it arrivals, takes its results, makes room, and writes down what it did."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from headgate.core import Scheduler
from headgate.metrics import QueueSeries
from headgate.sim.compiled.feeding import Feed, block_size
from headgate.sim.compiled.judging import Judge
from headgate.sim.compiled.layout import lay_out, set_models
from headgate.sim.compiled.loop import (
    CALLS,
    DONE,
    JUDGE,
    MORE_ANSWERS,
    MORE_ARRIVALS,
    MORE_RESULTS,
    MORE_ROOM,
    MORE_SAMPLES,
    SPARE,
    TOO_LONG,
    advance,
)
from headgate.sim.compiled.memory import Memory
from headgate.sim.compiled.operators import JOIN
from headgate.sim.compiled.policy_layout import lay_out_policy, set_trains
from headgate.sim.compiled.results import Results
from headgate.sim.compiled.tables import ANSWER, DELIVERY, ENDING, RESULT, SAMPLE, SIDE, STATE, TUPLE, WORKER, Array
from headgate.sim.deliveries import delivery_blocks
from headgate.sim.limits import check_bins
from headgate.workload import Workload

_RESULTS = 1 << 19  # held until they are taken
_SAMPLES = 1 << 14
_POOL = 1 << 10


class CompiledRun:
    """One simulation in progress."""

    def __init__(
        self,
        workload: Workload,
        scheduler: Scheduler,
        results: Results,
        *,
        bin: float,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._workload = workload
        self._scheduler = scheduler
        self._results = results
        self._bin = bin
        self._progress = progress
        self._series = QueueSeries()
        self.keeps_samples = True
        self._lay_out()

    def run(self) -> None:
        """Simulate to the end."""
        while (asked := advance(self._memory.world)) != DONE:
            if asked == MORE_ARRIVALS:
                self._take_results()
                self._feed.fill(self._memory)
                if self._progress is not None:
                    self._progress(min(1.0, float(self._state["now"]) / self._workload.duration))
            elif asked == MORE_ROOM:
                self._take_results()
                self._make_room()
            elif asked == MORE_RESULTS:
                self._take_results()
            elif asked == MORE_SAMPLES:
                self._take_samples()
            elif asked == MORE_ANSWERS:
                self._judge.hear(self._memory)
            elif asked == JUDGE:
                self._judge.judge(self._memory)
            elif asked == TOO_LONG:
                check_bins(float(self._state["now"]), self._bin)
        self._state["judges"] = 0  # nobody will be told of the results of runs under way
        self._take_results()
        self._take_samples()
        self._feed.exhaust()

    # -- what it did -----------------------------------------------------------------------------------------------

    @property
    def last(self) -> float:
        """When the last event happened."""
        return float(self._state["now"])

    @property
    def decisions(self) -> int:
        return int(self._state["decisions"])

    @property
    def runs(self) -> int:
        return int(self._state["runs"])

    @property
    def updates(self) -> list[float]:
        """When the policy made itself a new schedule."""
        return list(self._scheduler.policy.updates)

    @property
    def call_overhead(self) -> float:
        """Core seconds of calling operators."""
        return float(self._state["call_overhead"])

    @property
    def busy(self) -> float:
        """Core seconds spent running; runs under way at the stop are charged up to it."""
        stop = float(self._state["stop"])
        under_way = self._memory.endings[: self._state["endings"]]
        return float(self._state["busy"]) - sum(
            min(float(ending["at"]) - stop, float(self._memory.workers[ending["worker"]]["seconds"]))
            for ending in under_way
        )

    @property
    def arrived(self) -> dict[str, int]:
        """Tuples by stream."""
        return self._feed.arrived

    @property
    def unfinished(self) -> int:
        """How many tuples wait in all queues."""
        waiting = 0
        for queue in self._memory.queues:
            stream = queue["stream"]
            waiting += queue["length"] if stream < 0 else self._memory.streams[stream]["arrived"] - queue["position"]
        return int(waiting)

    def queue_series(self, end: float) -> QueueSeries:
        """What waited, up to the end."""
        state, series = self._state, self._series
        if end - state["next_sample"] > self._bin:
            check_bins(end, self._bin)
        while self.keeps_samples and state["next_sample"] < end:
            series.time.append(float(state["next_sample"]))
            series.tuples.append(float(state["tuples"]))
            series.bytes.append(float(state["bytes"]))
            state["samples"] += 1
            count = int(state["samples"])
            state["next_sample"] = count / state["per_second"] if state["per_second"] else count * self._bin
        if end > 0:
            series.mean_tuples = (int(state["tuples"]) * end - float(state["tuples_moment"])) / end
            series.mean_bytes = (int(state["bytes"]) * end - float(state["bytes_moment"])) / end
        series.max_tuples, series.max_bytes = float(state["max_tuples"]), float(state["max_bytes"])
        return series

    # -- arrays ----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        workload, scheduler = self._workload, self._scheduler
        layout = lay_out(workload, scheduler.network, list(scheduler.states), scheduler.measured)
        policy = lay_out_policy(scheduler.policy, scheduler.view, layout)
        set_models(layout.units, layout.states, scheduler.stats)
        set_trains(layout, scheduler.policy, workload.train)
        self._judge = Judge(scheduler.policy, scheduler.view, layout, policy)
        self._feed = Feed(workload, layout, delivery_blocks(workload, block_size(len(layout.rows))))
        workers = np.zeros(workload.cores, WORKER)
        workers["leaving"] = workers["ran"] = -1
        workers["oldest"] = math.inf
        self._memory = Memory(
            state=self._first_state(policy.family, policy.state, layout.units),
            units=layout.units,
            queues=layout.queues,
            operators=layout.operators,
            streams=layout.streams,
            workers=workers,
            parts=policy.parts,
            rotations=policy.rotations,
            links=layout.links.array(),
            costs=layout.costs,
            overheads=layout.overheads,
            slots=policy.slots,
            ranked=policy.ranked,
            players=policy.players,
            winners=policy.winners,
            scanned=policy.scanned,
            words=policy.words,
            windows=np.zeros(max(1, layout.windows), np.int64),
            sides=np.zeros(1, SIDE),
            pool=np.zeros(0, TUPLE),
            scratch=np.zeros(0, np.int64),
            endings=np.zeros(workload.cores + 1, ENDING),
            idle=np.arange(workload.cores, dtype=np.int64),
            asking=np.zeros(workload.cores, np.int64),
            twister=policy.twister,
            results=np.zeros(_RESULTS, RESULT),
            answers=np.zeros(2 * _RESULTS + SPARE, ANSWER),
            samples=np.zeros(_SAMPLES, SAMPLE),
            deliveries=np.zeros(1, DELIVERY),
            times=np.zeros(0),
            outcomes=np.zeros(0, np.uint8),
        )
        self._grow_pool(_POOL)
        self._grow_sides(256)
        self._feed.fill(self._memory)

    def _first_state(self, family: int, policy: dict[str, float], units: Array) -> Array:
        workload, state = self._workload, np.zeros(1, STATE)
        chains = (units["chain"] == 2) & (units["at_most"] == 1) & (units["blocks_count"] == 1)
        values = {
            "family": family,
            "cores": workload.cores,
            "idle": workload.cores,
            "stop": math.inf if workload.drain else workload.duration,
            "bin": self._bin,
            "run_overhead": workload.run_overhead,
            "free": -1,
            "fits": math.inf,
            "judges": self._scheduler.wants_answers,
            **policy,
        }
        values["chains"] = workload.cores == 1 and chains.all() and not (values["judges"] or "concludes" in policy)
        if abs(1 / self._bin - round(1 / self._bin)) < 1e-9:
            values["per_second"] = round(1 / self._bin)
        for name, value in values.items():
            state[name] = value
        return state

    @property
    def _state(self) -> Array:
        return self._memory.state[0]

    def _take_results(self) -> None:
        """Hand on the results; those of runs under way stay where their response times are still to be told."""
        state, memory = self._state, self._memory
        workers = self._under_way() if state["judges"] else []
        count = int(state["results"])
        first = min((int(memory.workers[worker]["first"]) for worker in workers), default=count)
        self._results.take(memory.results[:first])
        memory.results[: count - first] = memory.results[first:count].copy()
        for worker in workers:
            memory.workers[worker]["first"] -= first
            memory.workers[worker]["behind"] -= first
        state["results"] = count - first

    def _under_way(self) -> list[int]:
        """Workers whose runs have not ended."""
        state = self._state
        workers = self._memory.endings["worker"][: state["endings"]].tolist()
        return [*workers, int(state["worker"])] if state["phase"] == CALLS else workers

    def _take_samples(self) -> None:
        count = int(self._state["sampled"]) if self.keeps_samples else 0
        kept, series = self._memory.samples[:count], self._series
        series.time.frombytes(kept["time"].tobytes())
        series.tuples.frombytes(kept["tuples"].tobytes())
        series.bytes.frombytes(kept["bytes"].tobytes())
        self._state["sampled"] = 0

    def _make_room(self) -> None:
        """At least twice as much of what is too small."""
        state, memory = self._state, self._memory
        if state["room"] < state["wanted_tuples"]:
            self._grow_pool(max(len(memory.pool), int(state["wanted_tuples"])))
        if int(memory.operators["side_room"].max(initial=0)) < state["wanted_side"]:
            self._grow_sides(2 * int(state["wanted_side"]))
        if len(memory.results) - state["results"] < state["wanted_results"]:
            if state["answers"]:
                self._judge.hear(memory)
            results = np.zeros(2 * len(memory.results) + int(state["wanted_results"]), RESULT)
            results[: state["results"]] = memory.results[: state["results"]]
            memory.put(results=results, answers=np.zeros(2 * len(results) + SPARE, ANSWER))

    def _grow_pool(self, more: int) -> None:
        old = self._memory.pool
        pool = np.concatenate([old, np.zeros(more, TUPLE)])
        fresh = np.arange(len(old), len(pool))
        pool["next"][fresh] = np.append(fresh[1:], self._state["free"])
        self._state["free"] = len(old)
        self._state["room"] += more
        self._memory.put(pool=pool, scratch=np.zeros(2 * len(pool), np.int64))

    def _grow_sides(self, room: int) -> None:
        old, operators = self._memory.sides, self._memory.operators
        joins = np.flatnonzero(operators["kind"] == JOIN)
        sides = np.zeros(max(1, 2 * room * len(joins)), SIDE)
        for number, place in enumerate(joins):
            for side, at in (("left", 2 * number * room), ("right", (2 * number + 1) * room)):
                begin, count = operators[place][f"{side}_at"], operators[place][f"{side}_count"]
                sides[at : at + count] = old[begin : begin + count]
                operators[place][f"{side}_at"] = at
            operators[place]["side_room"] = room
        self._memory.put(sides=sides)
