/** Questions that the server answers by a replay of what it recorded: they take seconds, and it answers one at a time. */

import { Problem, post } from "../api/client";
import type { Change, ClassEffect, Preview } from "../api/deciding_types";
import { duration, percent } from "./format";

export const PREVIEWED = 60; // seconds of the record that a preview looks at
const BUSY = 429;
const AGAIN = 1000; // milliseconds
const PATIENCE = 60; // times

/** Ask; while the server is busy with another question, wait for our turn, and say so by `onBusy`. */
export async function asked<T>(path: string, body: unknown, signal: AbortSignal, onBusy: () => void): Promise<T> {
  for (let times = 0; ; times += 1) {
    try {
      return await post<T>(path, body, { signal });
    } catch (error) {
      // 429 is also the answer to a question that took too long: asking that again would take as long again
      const busy = error instanceof Problem && error.status === BUSY && error.detail.startsWith("another");
      if (!busy || times >= PATIENCE) throw error;
      onBusy();
      await pause(AGAIN, signal);
    }
  }
}

/** Who would gain and who would lose by a change. */
export const previewed = (change: Change, signal: AbortSignal, onBusy: () => void): Promise<Preview> =>
  asked<Preview>("/v1/policy/preview", { ...change, last: PREVIEWED }, signal, onBusy);

/** A relative change, as `+54 %`, `−80 %` or `12 times`. */
export function changeText(change: number | null | undefined): string {
  if (change === null || change === undefined) return "–";
  if (change >= 2) return `${change >= 9 ? Math.round(change + 1) : (change + 1).toFixed(1)} times`;
  const text = percent(change);
  return change > 0 ? `+${text}` : text;
}

/** What becomes of a class, in words. */
export function effectText(name: string, { effect, change, now, then }: ClassEffect): string {
  if (effect === "no results") return `${name}: no results to judge by`;
  if (effect === "within the error") return `${name}: no difference that can be told`;
  return `${name} ${effect}: ${duration(now?.mean)} → ${duration(then?.mean)} (${changeText(change)})`;
}

/** The classes of a preview by what becomes of them: those that lose first. */
export function previewLines(preview: Preview): string[] {
  const order = ["loses", "gains", "within the error", "no results"];
  return Object.entries(preview.classes)
    .sort(([, a], [, b]) => order.indexOf(a.effect) - order.indexOf(b.effect))
    .map(([name, effect]) => effectText(name, effect));
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = window.setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      window.clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}
