/** The question that is being answered, or was: it stays when another pane is looked at meanwhile. */

import { signal } from "@preact/signals";
import { Problem } from "../../api/client";
import type { WhatIfAnswer } from "../../api/deciding_types";
import { asked } from "../../lib/replays";
import { bodyOf, type Question } from "./question";

export type Asking =
  | { state: "none" }
  | { state: "asking"; question: Question; since: number; busy: boolean }
  | { state: "told"; question: Question; answer: WhatIfAnswer; took: number; at: number }
  | { state: "failed"; question: Question; problem: Problem };

export const asking = signal<Asking>({ state: "none" });
let current: AbortController | null = null;

/** Ask; an earlier question is left. */
export async function ask(question: Question): Promise<void> {
  leave();
  const abort = new AbortController();
  const since = Date.now();
  current = abort;
  asking.value = { state: "asking", question, since, busy: false };
  const busy = () => {
    asking.value = { state: "asking", question, since, busy: true };
  };
  try {
    const answer = await asked<WhatIfAnswer>("/v1/what-if", bodyOf(question), abort.signal, busy);
    const now = Date.now();
    asking.value = { state: "told", question, answer, took: (now - since) / 1000, at: now / 1000 };
  } catch (error) {
    if (abort.signal.aborted) return;
    const problem = error instanceof Problem ? error : new Problem(0, String(error));
    asking.value = { state: "failed", question, problem };
  }
}

/** Wait no longer. */
export function leave(): void {
  current?.abort();
  current = null;
  asking.value = { state: "none" };
}
