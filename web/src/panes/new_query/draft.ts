/** What was typed on this page; it survives a reload and a lost connection, until the browser's tab is closed. */

import { effect, signal } from "@preact/signals";
import type { NewQueryBody } from "../../api/types";
import type { Point } from "./qos";

/** When something happens: at once or never, after some time, or at a moment of the clock. */
export type When = { kind: "none" } | { kind: "after"; time: string } | { kind: "at"; moment: string };

export interface Draft {
  name: string;
  sql: string;
  class: string;
  wish: "none" | "target" | "qos";
  target: string;
  qos: Point[];
  start: When;
  end: When;
  kept: boolean; // read also what is kept
  once: boolean;
  lag: "" | "skip" | "wait";
  lagTuples: string;
  sink: string;
  sinkSettings: string;
}

export const EMPTY: Draft = {
  name: "",
  sql: "",
  class: "",
  wish: "none",
  target: "",
  qos: [
    [0, 1],
    [0.5, 1],
    [2, 0],
  ],
  start: { kind: "none" },
  end: { kind: "none" },
  kept: false,
  once: false,
  lag: "",
  lagTuples: "100000",
  sink: "parquet",
  sinkSettings: "",
};

const KEY = "headgate-new-query";

export const draft = signal<Draft>(stored());
/** What was there before it was cleared or replaced, to bring it back. */
export const earlier = signal<Draft | null>(null);

export const isEmpty = (one: Draft): boolean => one.name.trim() === "" && one.sql.trim() === "";

export const change = (part: Partial<Draft>): void => {
  draft.value = { ...draft.value, ...part };
};

/** Begin anew; what was there can be brought back. */
export function replaceDraft(part: Partial<Draft>): void {
  earlier.value = isEmpty(draft.value) ? null : draft.value;
  draft.value = { ...EMPTY, ...part };
}

export function bringBack(): void {
  if (earlier.value) draft.value = earlier.value;
  earlier.value = null;
}

effect(() => {
  try {
    if (draft.value === EMPTY) window.sessionStorage.removeItem(KEY);
    else window.sessionStorage.setItem(KEY, JSON.stringify(draft.value));
  } catch {
    // a browser that keeps nothing
  }
});

function stored(): Draft {
  try {
    const kept = JSON.parse(window.sessionStorage.getItem(KEY) ?? "null") as Partial<Draft> | null;
    return kept ? { ...EMPTY, ...kept } : EMPTY;
  } catch {
    return EMPTY;
  }
}

/** What is sent to the server; `now` in seconds since 1970. */
export function toBody(one: Draft, now = Date.now() / 1000): NewQueryBody {
  const body: NewQueryBody = { name: one.name.trim(), sql: one.sql };
  if (one.class) body.class = one.class;
  const sink = [one.sink, one.sinkSettings.trim()].filter(Boolean).join(", ");
  if (sink !== "parquet") body.sink = sink;
  if (one.wish === "target" && one.target.trim()) body.target = one.target.trim();
  if (one.wish === "qos" && one.qos.length) body.qos = one.qos;
  if (one.once) body.once = true;
  else if (one.kept) body.since = "start";
  const start = seconds(one.start, now);
  const end = seconds(one.end, now);
  if (start !== undefined) body.start = start;
  if (end !== undefined) body.end = end;
  if (one.lag) body.lag = `${one.lag}, tuples=${one.lagTuples.trim() || "100000"}`;
  return body;
}

function seconds(when: When, now: number): number | string | undefined {
  if (when.kind === "after") {
    const text = when.time.trim();
    return text === "" ? undefined : /^[\d.]+$/.test(text) ? Number(text) : text;
  }
  if (when.kind === "at" && when.moment) return Math.max(0, Math.round(new Date(when.moment).getTime() / 1000 - now));
  return undefined;
}
