/** Which stretch of time is shown, as the address has it. */

import { clampSpan, KEPT } from "./time_scale";

export interface Shown {
  end: number | null; // seconds since 1970; null: follows what happens now
  span: number; // seconds
}

export const USUAL_SPAN = 60;
const LATEST = 8.64e12; // the last moment, in seconds, that a Date can hold

export const RANGES: readonly { span: number; title: string }[] = [
  { span: 10, title: "10 s" },
  { span: 60, title: "1 min" },
  { span: KEPT, title: "10 min" },
];

/** What an address asks for; what makes no sense in it is as if it were not there. */
export function shownOf(query: URLSearchParams): Shown {
  const span = positive(query.get("span"));
  const end = positive(query.get("at"));
  return { end: end !== null && end > LATEST ? null : end, span: span === null ? USUAL_SPAN : clampSpan(span) };
}

/** The settings of an address that asks for it. */
export function settingsOf({ end, span }: Shown): { at: string | null; span: string | null } {
  return {
    at: end === null ? null : end.toFixed(2),
    span: span === USUAL_SPAN ? null : String(Number(span.toFixed(2))),
  };
}

export function positive(text: string | null): number | null {
  const value = Number(text);
  return text && Number.isFinite(value) && value > 0 ? value : null;
}
