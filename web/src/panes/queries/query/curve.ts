/** The latency of a query over time, as far back as the address says. */

import { pathOf, withQuery } from "../../../api/client";
import type { LatencyCurve } from "../../../api/types";
import { type Answer, useAnswer } from "../../../lib/polling";
import { choose, place } from "../../../lib/router";

export const RANGES = [
  { over: 60, step: 2, title: "1 min" },
  { over: 300, step: 5, title: "5 min" },
  { over: 600, step: 10, title: "10 min" },
] as const;

const EACH = 5000; // milliseconds

/** How far back curves go: as the address says. */
export const rangeNow = () => RANGES.find(({ over }) => String(over) === place.value.query.get("over")) ?? RANGES[1];
export const chooseRange = (over: number): void => choose({ over: over === RANGES[1].over ? null : String(over) });

export function useCurve(name: string, gone: boolean): Answer<LatencyCurve> {
  const { over, step } = rangeNow();
  return useAnswer<LatencyCurve>(withQuery(pathOf("queries", name, "latency"), { over, step }), gone ? 0 : EACH);
}
