/** What happened in a stretch of time, class by class. */

import type { Bar } from "./run_store";
import type { View } from "./time_scale";

export interface ClassSummary {
  name: string;
  runs: number;
  cancelled: number;
  failed: number;
  busy: number; // seconds of workers
  meanWait: number | null; // from the oldest tuple's arrival to the beginning of the run
  longestWait: number | null;
}

/** The runs that began in a stretch, and the workers' time in it, by class. */
export function summarised(bars: readonly Bar[], view: View): ClassSummary[] {
  const classes = new Map<string, ClassSummary>();
  for (const { run, freed } of bars) {
    const within = Math.min(freed, view.to) - Math.max(run.began, view.from);
    if (within < 0) continue;
    let line = classes.get(run.class);
    if (!line) {
      line = { name: run.class, runs: 0, cancelled: 0, failed: 0, busy: 0, meanWait: null, longestWait: null };
      classes.set(run.class, line);
    }
    line.busy += within;
    if (run.began < view.from) continue;
    const wait = run.began - run.oldest;
    line.runs += 1;
    if (run.state === "cancelled") line.cancelled += 1;
    if (run.state === "failed") line.failed += 1;
    line.meanWait = ((line.meanWait ?? 0) * (line.runs - 1) + wait) / line.runs;
    line.longestWait = Math.max(line.longestWait ?? 0, wait);
  }
  return [...classes.values()];
}

/** The newest runs that began in a stretch, the newest first. */
export function newestIn(bars: readonly Bar[], view: View, most: number): Bar[] {
  const found: Bar[] = [];
  for (let place = bars.length - 1; place >= 0 && found.length < most; place -= 1) {
    const bar = bars[place]!;
    if (bar.run.began <= view.to && bar.run.began >= view.from) found.push(bar);
  }
  return found;
}
