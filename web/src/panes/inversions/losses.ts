/** What classes lost to whom, put together for a matrix and for lists. */

import type { InvertedPair, Share } from "../../api/deciding_types";

export interface ClassLoss {
  name: string;
  pair: InvertedPair; // the one in which it lost most
  others: InvertedPair[];
  seconds: number;
  to: Map<string, number>; // seconds by class; ELSEWHERE: what is no class's
}

export interface CauseLoss {
  cause: string;
  seconds: number;
  shares: Share[];
}

export const ELSEWHERE = "";
/** How the server names queries of others, to those who may not see them. */
export const OTHER_WORK = "other work";

/**
 * What each class lost. Time that it lost against two less important classes is the same time, so that only the pair
 * in which it lost most counts.
 */
export function lossesByClass(pairs: readonly InvertedPair[]): ClassLoss[] {
  const above = new Map<string, InvertedPair[]>();
  for (const pair of pairs) above.set(pair.above, [...(above.get(pair.above) ?? []), pair]);
  return [...above].map(([name, theirs]) => {
    const [pair, ...others] = theirs.toSorted((a, b) => b.sum.seconds - a.sum.seconds) as [
      InvertedPair,
      ...InvertedPair[],
    ];
    const to = new Map<string, number>();
    for (const share of pair.sum.to) {
      const whose = share.class ?? ELSEWHERE;
      to.set(whose, (to.get(whose) ?? 0) + share.seconds);
    }
    return { name, pair, others, seconds: pair.sum.seconds, to };
  });
}

/** Shares by their cause, the largest first. */
export function byCause(shares: readonly Share[]): CauseLoss[] {
  const found = new Map<string, CauseLoss>();
  for (const share of shares) {
    const one = found.get(share.cause) ?? { cause: share.cause, seconds: 0, shares: [] };
    one.seconds += share.seconds;
    one.shares.push(share);
    found.set(share.cause, one);
  }
  return [...found.values()].sort((a, b) => b.seconds - a.seconds);
}

const MEANINGS: Record<string, string> = {
  "long run": "it was running already when the tuples came",
  "policy's order": "the policy chose it while the tuples waited",
  "low rate": "the policy chose it: the class gets few tuples, so its turns do little",
  "own class": "earlier work of the same class: more comes in than gets done",
  "shared operator": "it shares operators with the query",
  "fused too much": "less important queries in the query's own run, by fusion of all classes",
  "not scheduled": "the query was paused or being changed",
  "own run": "its own runs take longer",
  commit: "committing its results takes longer",
  sink: "its sink takes longer",
  window: "its window closes later",
  [OTHER_WORK]: "work of others, of which you may not be told more",
  "free worker": "a worker was free, but kept for others",
};

export const causeMeaning = (cause: string): string => MEANINGS[cause] ?? "";
