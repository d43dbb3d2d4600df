/** Response times of classes over the last ten minutes: asked once, then only what is new. */

import { useEffect, useState } from "preact/hooks";
import { get, Problem, withQuery } from "../../api/client";
import type { Latencies } from "../../api/types";
import { reconnections } from "../../live/connection";

export type Values = readonly (number | null)[];

export interface Curves {
  at: readonly number[];
  classes: Readonly<Record<string, { p50: Values; p95: Values }>>;
}

const KEPT = 600; // seconds

/** What was known, and what came since; what is older than ten minutes goes. */
export function joined(before: Curves | null, more: Latencies): Curves {
  const fresh = more.at.map((_, place) => place).filter((place) => more.at[place]! > (before?.at.at(-1) ?? 0));
  const old = before?.at.length ?? 0;
  const at = [...(before?.at ?? []), ...fresh.map((place) => more.at[place]!)];
  const from = at.findIndex((moment) => moment > at.at(-1)! - KEPT);
  const names = new Set([...Object.keys(before?.classes ?? {}), ...Object.keys(more.classes)]);
  const grown = (known: Values | undefined, news: Values | undefined): Values =>
    [...(known ?? Array<null>(old).fill(null)), ...fresh.map((place) => news?.[place] ?? null)].slice(
      Math.max(0, from),
    );
  return {
    at: at.slice(Math.max(0, from)),
    classes: Object.fromEntries(
      [...names].map((name) => {
        const [known, news] = [before?.classes[name], more.classes[name]];
        return [name, { p50: grown(known?.p50, news?.p50), p95: grown(known?.p95, news?.p95) }];
      }),
    ),
  };
}

/** Values that a logarithmic axis can show. */
export const aboveZero = (values: Values): Values =>
  values.map((value) => (value === null || value <= 0 ? null : value));

/** The curves of all classes, as they grow. */
export function useCurves(): { curves: Curves | null; error: Problem | null } {
  const [curves, setCurves] = useState<Curves | null>(null);
  const [error, setError] = useState<Problem | null>(null);
  const back = reconnections.value;
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let known: Curves | null = null; // after a lost connection all of it is asked again
    let wait = 5000;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const more: Latencies = await get<Latencies>(
            withQuery("/v1/latencies", { after: known?.at.at(-1) }),
            abort.signal,
          );
          known = joined(known, more);
          wait = Math.max(1, more.step) * 1000;
          setCurves(known);
          setError(null);
        } catch (problem) {
          if (abort.signal.aborted) return;
          setError(problem instanceof Problem ? problem : new Problem(0, String(problem)));
        }
      }
      if (!abort.signal.aborted) timer = window.setTimeout(ask, wait);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [back]);
  return { curves, error };
}
