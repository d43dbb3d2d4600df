/** The rows of the timeline, and which bar is at a point of it. */

import type { Bar, RunStore } from "./run_store";
import { WAIT_LANES } from "./run_store";
import { momentAt, type View } from "./time_scale";

export const AXIS = 24; // pixels
export const WORKER_ROW = 34;
export const WAIT_LANE = 5;
export const WAIT_ROW = WAIT_LANES * WAIT_LANE + 10;
export const HEADING = 22; // above the waits
const PADDING = 4;
const NEAR = 3; // pixels beside a bar that still count as on it

export interface Rows {
  workers: number;
  classes: readonly string[];
}

export const workerTop = (worker: number): number => AXIS + worker * WORKER_ROW;
export const waitsTop = (rows: Rows): number => workerTop(rows.workers) + HEADING;
export const waitTop = (rows: Rows, place: number): number => waitsTop(rows) + place * WAIT_ROW;
export const heightOf = (rows: Rows): number => waitTop(rows, rows.classes.length) + 4;

export interface Band {
  top: number;
  height: number;
}

/** Where a run is drawn in the row of its worker. */
export function runBand(bar: Bar, lanes: number): Band {
  const height = (WORKER_ROW - 2 * PADDING) / lanes;
  return { top: workerTop(bar.run.worker) + PADDING + bar.runLane * height, height: height - (lanes > 1 ? 1 : 0) };
}

/** Where its wait is drawn in the row of its class; null if the class has no row. */
export function waitBand(bar: Bar, rows: Rows): Band | null {
  const place = rows.classes.indexOf(bar.run.class);
  if (place < 0) return null;
  return { top: waitTop(rows, place) + PADDING + bar.waitLane * WAIT_LANE, height: WAIT_LANE - 1 };
}

/** The run, or the wait, at a point: the one that is nearest, if one is near enough. */
export function barAt(store: RunStore, rows: Rows, view: View, width: number, x: number, y: number): Bar | null {
  const moment = momentAt(x, view, width);
  const near = momentAt(NEAR, view, width) - view.from;
  let best: Bar | null = null;
  let distance = near;
  const consider = (bar: Bar, from: number, to: number) => {
    const away = Math.max(0, from - moment, moment - to);
    if (away <= distance) {
      best = bar;
      distance = away;
    }
  };
  const onWorkers = y < waitsTop(rows) - HEADING;
  for (const bar of store.bars) {
    if (onWorkers) {
      if (isIn(y, runBand(bar, store.lanesOf(bar.run.worker)), 1)) consider(bar, bar.run.began, bar.freed);
    } else {
      const band = waitBand(bar, rows);
      if (band && isIn(y, band, 0.5)) consider(bar, bar.run.oldest, bar.run.began);
    }
  }
  return best;
}

const isIn = (y: number, band: Band, more: number): boolean =>
  y >= band.top - more && y <= band.top + band.height + more;
