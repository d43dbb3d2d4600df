/** Words for what the server names shortly. */

import type { Fusion } from "../../api/deciding_types";

export const policyPath = (name: string): string => `/policies/${encodeURIComponent(name)}`;

export const FUSION_MEANING: Record<Fusion, string> = {
  off: "every query has jobs of its own. Nobody waits for another query's part of a job, but a Spark job costs tens of milliseconds however little it does.",
  class:
    "queries of one class and one form (such as filters over one stream, or aggregates of equal window and keys) share jobs. That saves most of the cost, and nobody waits for less important work.",
  all: "queries of one form share jobs whatever their class. It costs least, but an important query's run also does the work of less important ones.",
};

const FAMILIES: Record<string, [string, string]> = {
  classes: ["Classes", "share the workers among classes by their priorities"],
  targets: ["Targets", "look at when results are wanted"],
  slowdown: ["Slowdown", "look at what a query yields for its cost"],
  baseline: ["Baselines", "simple rules, to compare others with"],
  aurora: ["Aurora", "operators and queries at a time, and QoS graphs"],
  memory: ["Memory", "keep queues short"],
  adaptive: ["Adaptive", "choose among other policies while they run"],
  own: ["Your own", "from files of yours"],
};
const ORDER = Object.keys(FAMILIES);

export const familyTitle = (family: string): string => FAMILIES[family]?.[0] ?? family;
export const familyMeaning = (family: string): string => FAMILIES[family]?.[1] ?? "";
export const familyRank = (family: string): number => (ORDER.includes(family) ? ORDER.indexOf(family) : ORDER.length);

/** Settings that every policy has: of its runs, not of its rule. */
export const COMMON_SETTINGS: ReadonlySet<string> = new Set([
  "level",
  "train",
  "ratio",
  "threshold",
  "schedule",
  "slice",
  "preempt",
  "keep",
]);
