/** What can be told from the latency of a query over time. */

import { type LatencyCurve, PARTS, type Part, type TimeShares } from "../../../api/types";

/** Where the time of all results of a curve went, on average; null if there were none. */
export function meanParts(curve: LatencyCurve): TimeShares | null {
  const parts = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  let results = 0;
  curve.results.forEach((there, place) => {
    if (!there) return;
    results += there;
    for (const part of PARTS) parts[part] += there * (curve.parts[part][place] ?? 0);
  });
  if (!results) return null;
  let seconds = 0;
  for (const part of PARTS) {
    parts[part] /= results;
    seconds += parts[part];
  }
  return { results, seconds, parts };
}

export interface Moment {
  at: number; // within the step
  seconds: number; // its slowest result took
}

/** The moments with the slowest results, the slowest first; no two of them side by side. */
export function slowest(curve: LatencyCurve, many: number): Moment[] {
  const order = curve.max
    .map((value, place) => ({ value, place }))
    .filter((one): one is { value: number; place: number } => one.value !== null)
    .sort((a, b) => b.value - a.value);
  const found: number[] = [];
  for (const { place } of order) {
    if (found.length < many && !found.some((other) => Math.abs(other - place) < 3)) found.push(place);
  }
  return found.map((place) => ({ at: middle(curve, place), seconds: curve.max[place]! }));
}

/** The moment in the middle of a step: results of that step were on their way then. */
export const middle = (curve: LatencyCurve, place: number): number => curve.at[place]! - curve.step / 2;

export const PART_NAMES: Record<Part, string> = {
  window: "window",
  queue: "queue",
  running: "running",
  commit: "commit",
  sink: "sink",
};

export const PART_WORDS: Record<Part, string> = {
  window: "until its windows closed",
  queue: "in the queue, for its turn",
  running: "in its own runs",
  commit: "being committed",
  sink: "until its sink had it",
};

export const partColour = (part: Part): string => `var(--part-${part})`;
