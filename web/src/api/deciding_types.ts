/** The shapes of answers about who decides, what would have been, and who delayed whom. */

export interface PolicySetting {
  name: string;
  type: "true or false" | "whole number" | "number" | "text";
  default: unknown;
  meaning: string;
  choices: string[];
  least: number | null;
  most: number | null;
}

export interface PolicyDetails {
  name: string;
  family: string;
  rule: string;
  source: string;
  description: string;
  settings: PolicySetting[];
  level: string;
  levels: string[];
  needs: Record<string, string>;
}

export const FUSIONS = ["off", "class", "all"] as const;
export type Fusion = (typeof FUSIONS)[number];

export interface CurrentPolicy {
  policy: string;
  fuse: Fusion;
  error: string | null;
}

export interface Times {
  mean: number | null;
  p50: number | null;
  p95: number | null;
}

/** What is to be different from what was recorded. */
export interface Change {
  policy?: string;
  fuse?: Fusion;
  priorities?: Record<string, number>;
}

export interface ClassEffect {
  effect: "gains" | "loses" | "within the error" | "no results";
  change: number | null; // of the mean response time: 0.5 is half as long again
  error: number | null;
  now: Times | null;
  then: Times | null;
}

export interface TargetCount {
  met: number;
  of: number;
}

export interface Preview {
  policy: string;
  fuse: Fusion | null;
  priorities: Record<string, number>;
  classes: Record<string, ClassEffect>;
  targets?: TargetCount | null;
  targets_now?: TargetCount | null;
}

export interface ReplayedClass {
  response_time: Times;
  results: number;
  change?: number | null;
  within_error?: boolean | null;
}

/** How one policy did, or would have done. */
export interface Judged {
  policy?: string;
  classes: Record<string, ReplayedClass>;
  overall: { response_time: Times; results: number };
  targets?: TargetCount;
}

export interface WhatIfAnswer {
  recorded: Judged;
  replayed: Judged;
  error: Record<string, number | null>;
  policies: Record<string, Judged>;
  failed: Record<string, string>;
  by: string;
  ranking: string[];
  regret?: Record<
    string,
    {
      value: number | null;
      best: string | null;
      best_value: number | null;
      share: number | null;
      within_error?: boolean | null;
    }
  >;
  added?: {
    queries: Record<string, { response_time: Times; results: number }>;
    classes: Record<
      string,
      {
        without: number | null;
        with: number | null;
        change: number | null;
        error: number | null;
        within_error: boolean | null;
      }
    >;
    slower: string[];
    text: string;
  };
}

/** Seconds that a class lost to the work of one class, of one kind and for one reason. */
export interface Share {
  whom: string;
  class: string | null;
  work: string | null;
  queries: string[];
  cause: string;
  seconds: number;
  runs: number;
}

export interface InvertedPair {
  above: string; // answers later than
  below: string; // which is less important
  response_above: number;
  response_below: number;
  results: number;
  lost: number; // seconds of a result, on average
  causes: Record<string, number>;
  sum: { seconds: number; to: Share[] };
  summary: string;
}

export interface Starving {
  query: string;
  class: string;
  sentence: string;
  cause: string;
  seconds: number;
  delays: { seconds: number; cause: string; class?: string; queries?: string[]; decision?: number }[];
}

export interface Inversions {
  from: number;
  to: number;
  inversions: InvertedPair[];
  starving: Starving[];
}
