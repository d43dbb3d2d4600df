/** For runs that are too short to be drawn one by one: how much of each worker's time each class had. */

import type { Bar } from "./run_store";
import { spanOf, type View, xOf } from "./time_scale";

export const COLUMN = 3; // pixels
const TOO_MANY = 0.5; // runs to a column of a row, in the mean

/** Whether there are more runs in so many rows than could be told apart. */
export function crowded(bars: readonly Bar[], rows: number, width: number): boolean {
  return bars.length > (TOO_MANY * rows * width) / COLUMN;
}

/** The share of the time of each column that each class had, by worker: `shares[worker]` maps a class to columns. */
export function shares(bars: readonly Bar[], view: View, width: number, now: number): Map<string, Float32Array>[] {
  const columns = Math.ceil(width / COLUMN);
  const found: Map<string, Float32Array>[] = [];
  for (const { run, freed } of bars) {
    const from = Math.max(0, xOf(run.began, view, width) / COLUMN);
    const to = Math.min(columns, xOf(run.ended === undefined ? now : freed, view, width) / COLUMN);
    if (to <= from) continue;
    found[run.worker] ??= new Map();
    let row = found[run.worker]!.get(run.class);
    if (!row) {
      row = new Float32Array(columns);
      found[run.worker]!.set(run.class, row);
    }
    for (let column = Math.floor(from); column < to; column += 1) {
      row[column]! += Math.min(to, column + 1) - Math.max(from, column);
    }
  }
  return found;
}

/** The moments between which all columns stay where they are while the picture moves on. */
export function aligned(view: View, width: number): View {
  const seconds = (spanOf(view) / width) * COLUMN;
  const from = Math.floor(view.from / seconds) * seconds;
  return { from, to: from + spanOf(view) };
}
