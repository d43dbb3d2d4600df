/** The numbers by which policies decide, in words. */

import type { Numbers } from "../../api/types";
import { count, duration } from "../../lib/format";

const WORDS: Record<string, string> = {
  wait: "Its oldest tuple had waited",
  waiting: "Tuples that waited for it",
  class_priority: "Priority of its class",
  priority: "Its priority",
  score: "Its score",
  "score 1": "Its score",
  "score 2": "Its score where the first is equal",
  cost: "Cost of a tuple",
  global_cost: "Cost of a tuple up to the results",
  ideal_time: "Time of a result if it were alone",
  remaining_time: "Time that it still needs",
  output_rate: "Results per second of work",
  selectivity: "Results per tuple",
  tickets: "Its tickets in the draw",
  pseudo_priority: "Its priority, by clusters",
  slack: "Time until it is late",
};
const TIMES = new Set(["wait", "cost", "global_cost", "ideal_time", "remaining_time", "run_overhead", "slack"]);

export interface Compared {
  key: string;
  title: string;
  winner: string;
  runnerUp: string;
}

/** The winner's numbers beside the runner-up's; those that only one of them has are shown, too. */
export function compared(winner: Numbers = {}, runnerUp: Numbers = {}): Compared[] {
  const names = [...new Set([...Object.keys(winner), ...Object.keys(runnerUp)])];
  return names.map((key) => ({
    key,
    title: titleOf(key),
    winner: figure(key, winner[key]),
    runnerUp: figure(key, runnerUp[key]),
  }));
}

export const titleOf = (key: string): string =>
  WORDS[key] ?? `${key.charAt(0).toUpperCase()}${key.slice(1).replaceAll("_", " ")}`;

/** A number as people read it; a dash if there is none. */
export function figure(key: string, value: number | undefined): string {
  if (value === undefined) return "–";
  if (TIMES.has(key)) return duration(value);
  return value !== 0 && Math.abs(value) < 0.1 ? value.toPrecision(2).replace("-", "−") : count(value);
}
