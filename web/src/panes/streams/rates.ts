/** The rates of streams over time, kept while the page is open, from when a stream was first looked at. */

import { effect, signal } from "@preact/signals";
import { status } from "../../live/connection";

export interface RateCurve {
  at: readonly number[];
  rates: readonly (number | null)[];
}

const EACH = 2; // seconds
const KEPT = 450; // samples: a quarter of an hour

const NONE: RateCurve = { at: [], rates: [] };

/** The curves by stream. */
export const curves = signal<Readonly<Record<string, RateCurve>>>({});

export const curveOf = (stream: string): RateCurve => curves.value[stream] ?? NONE;

let last = 0;

effect(() => {
  const now = status.value;
  const at = now?.at ?? Date.now() / 1000;
  if (!now?.streams || at - last < EACH) return;
  last = at;
  const before = curves.peek();
  curves.value = Object.fromEntries(
    Object.entries(now.streams).map(([name, stream]) => [name, extended(before[name] ?? NONE, at, stream.rate)]),
  );
});

/** The curve with one more sample; a gap where none came for long. */
export function extended(curve: RateCurve, at: number, rate: number): RateCurve {
  const previous = curve.at.at(-1);
  const gap = previous !== undefined && at - previous > 5 * EACH;
  return {
    at: [...curve.at, ...(gap ? [previous + EACH] : []), at].slice(-KEPT),
    rates: [...curve.rates, ...(gap ? [null] : []), rate].slice(-KEPT),
  };
}
