/** The runs of the last ten minutes, put together from the server's answers. */

import type { Run, Runs } from "../../api/types";
import { Lanes } from "./lanes";
import { KEPT } from "./time_scale";

/** A run, and where it is drawn. */
export interface Bar {
  key: string; // numbers of runs begin again when the engine does
  run: Run;
  waitLane: number; // among the waits of its class
  runLane: number; // among the runs of its worker; 0 unless they overlap
  seated: boolean; // its worker is one of those that there are
  freed: number; // when its worker was free for the next run, though results may not have been committed
}

export const WAIT_LANES = 8;
export const RUN_LANES = 4;
const SAME = 0.005; // seconds: a run begins when another leaves its worker, and both times are rounded
const SHORTEST_WAIT = 0.02; // shorter ones take as much room in a lane

export class RunStore {
  /** Sorted by when they began. */
  bars: Bar[] = [];
  at = 0; // the moment of the newest answer
  keptFrom = 0; // the earliest moment that the server keeps
  loadedFrom = Number.POSITIVE_INFINITY; // the earliest moment that was asked for
  workers = 0;
  cursor: string | null = null;
  private byKey = new Map<string, Bar>();
  private waits = new Map<string, Lanes>();
  private overlaps = new Map<number, Lanes>();

  /** `overlapping`: runs of a worker may overlap, as when the server does not tell which worker it was. */
  constructor(readonly overlapping = false) {}

  /** Take in an answer; `since` is how many seconds back it was asked for, undefined if from the cursor on. */
  add(answer: Runs, since?: number): void {
    this.at = Math.max(this.at, answer.at);
    this.keptFrom = answer.from;
    this.cursor = answer.next;
    if (since !== undefined) this.loadedFrom = Math.min(this.loadedFrom, answer.at - since);
    const running = new Set(answer.running.map(keyOf));
    for (const run of answer.runs) this.put(run);
    for (const run of answer.running) this.put(run);
    this.drop((bar) => bar.run.ended === undefined && !running.has(bar.key)); // lost, as by a restart
    this.forget(this.at - KEPT);
    this.bars.sort((a, b) => a.run.began - b.run.began || a.run.id - b.run.id);
    if (!this.overlapping) this.seat(answer.workers);
    this.follow(answer.workers);
  }

  /** The newest run with a number. */
  numbered(id: number): Bar | undefined {
    return this.bars.findLast((bar) => bar.run.id === id);
  }

  /** The run of the same worker that began next after another one, or before it; undefined at the end. */
  neighbour(bar: Bar, step: 1 | -1): Bar | undefined {
    for (let place = this.bars.indexOf(bar) + step; place >= 0 && place < this.bars.length; place += step) {
      if (this.bars[place]!.run.worker === bar.run.worker) return this.bars[place];
    }
    return undefined;
  }

  /** The run of another worker that was under way at a moment, or else began last before it. */
  onWorker(worker: number, moment: number): Bar | undefined {
    const before = this.bars.filter((bar) => bar.run.worker === worker && bar.run.began <= moment);
    return before.at(-1) ?? this.bars.find((bar) => bar.run.worker === worker);
  }

  /** How many runs of a worker are drawn under each other. */
  lanesOf(worker: number): number {
    return Math.max(1, this.overlaps.get(worker)?.count ?? 1);
  }

  private put(run: Run): void {
    const key = keyOf(run);
    const known = this.byKey.get(key);
    if (known) {
      known.run = known.seated ? { ...run, worker: known.run.worker } : run;
      if (this.overlapping) this.overlaps.get(run.worker)?.extend(known.runLane, run.began, endOf(run, this.at));
      return;
    }
    const bar = { key, run, waitLane: this.waitLane(run), runLane: this.runLane(run), freed: 0, seated: false };
    this.byKey.set(key, bar);
    this.bars.push(bar);
  }

  /**
   * Give each new run one of the workers that there are. The server counts those that still commit as well, so its
   * numbers go beyond: a run has the worker of its number if that was free when it began, else another that was.
   */
  private seat(workers: number): void {
    const free = new Array<number>(Math.max(1, workers)).fill(Number.NEGATIVE_INFINITY);
    for (const bar of this.bars) {
      if (!bar.seated) {
        bar.run = { ...bar.run, worker: freeWorker(free, bar.run) };
        bar.seated = true;
      }
      const { run } = bar;
      free[run.worker] = Math.max(free[run.worker] ?? 0, run.evaluated ?? endOf(run, this.at));
    }
  }

  /** Note when workers were free again: a worker has one run at a time, so at the latest when it began the next. */
  private follow(workers: number): void {
    const next = new Map<number, number>();
    this.workers = this.overlapping ? 1 : workers;
    for (let place = this.bars.length - 1; place >= 0; place -= 1) {
      const bar = this.bars[place]!;
      const { run } = bar;
      const busy = this.overlapping ? undefined : next.get(run.worker);
      bar.freed = Math.min(run.evaluated ?? endOf(run, this.at), busy ?? Number.POSITIVE_INFINITY);
      next.set(run.worker, run.began);
      this.workers = Math.max(this.workers, run.worker + 1);
    }
  }

  private waitLane(run: Run): number {
    const lanes = kept(this.waits, run.class, () => new Lanes(WAIT_LANES));
    return lanes.place(run.oldest, Math.max(run.began, run.oldest + SHORTEST_WAIT));
  }

  private runLane(run: Run): number {
    if (!this.overlapping) return 0;
    return kept(this.overlaps, run.worker, () => new Lanes(RUN_LANES)).place(run.began, endOf(run, this.at));
  }

  private forget(before: number): void {
    this.loadedFrom = Math.max(this.loadedFrom, before);
    this.drop((bar) => bar.run.ended !== undefined && bar.run.ended < before);
    for (const lanes of [...this.waits.values(), ...this.overlaps.values()]) lanes.drop(before);
  }

  private drop(isGone: (bar: Bar) => boolean): void {
    if (!this.bars.some(isGone)) return;
    for (const bar of this.bars) if (isGone(bar)) this.byKey.delete(bar.key);
    this.bars = this.bars.filter((bar) => this.byKey.has(bar.key));
  }
}

const keyOf = (run: Run): string => `${run.began}:${run.id}`;

/** Which worker was free when a run began; if none was, the one that was free next. */
function freeWorker(free: readonly number[], { worker, began }: Run): number {
  const isFree = (at: number | undefined) => at !== undefined && at <= began + SAME;
  if (isFree(free[worker])) return worker;
  const found = free.findIndex(isFree);
  return found >= 0 ? found : free.indexOf(Math.min(...free));
}

const endOf = (run: Run, now: number): number => run.ended ?? Math.max(now, run.began);

function kept<Key, Value>(values: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}
