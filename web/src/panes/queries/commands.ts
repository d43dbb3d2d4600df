/** What can be done with a query, or with several of them. */

import { Problem, pathOf, post, remove } from "../../api/client";

export interface Outcome {
  done: number;
  refused: { name: string; why: string }[];
}

export const pause = (name: string): Promise<unknown> => post(pathOf("queries", name, "pause"));
export const resume = (name: string): Promise<unknown> => post(pathOf("queries", name, "resume"));
export const stop = (name: string): Promise<unknown> => remove(pathOf("queries", name));
export const move = (name: string, to: string): Promise<unknown> =>
  post(pathOf("queries", name, "move"), { class: to });
export const replace = (name: string, sql: string): Promise<unknown> =>
  post(pathOf("queries", name, "replace"), { sql });

const AT_ONCE = 4; // requests

/** Do the same with several queries; one that is refused does not keep the others from it. */
export async function doToAll(names: readonly string[], act: (name: string) => Promise<unknown>): Promise<Outcome> {
  const left = [...names];
  const outcome: Outcome = { done: 0, refused: [] };
  const worker = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      try {
        await act(name);
        outcome.done += 1;
      } catch (error) {
        outcome.refused.push({ name, why: error instanceof Problem ? error.detail : String(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return outcome;
}

/** What came of it in one line, as `3 paused; 1 refused: hot: …`. */
export function outcomeText({ done, refused }: Outcome, word: string): string {
  if (!refused.length) return `${done === 1 ? "1 query" : `${done} queries`} ${word}`;
  const first = refused[0]!;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
  return `${done} ${word}, ${refused.length} refused: ${first.name}: ${first.why}${more}`;
}

const CAN_PAUSE = new Set(["running", "waiting", "scheduled", "cutting", "checking"]);
const CAN_RESUME = new Set(["paused", "suspended", "incomplete"]);

/** Whether a query in a state can be paused. */
export const canPause = (state: string): boolean => CAN_PAUSE.has(state);
/** Whether a query in a state can be resumed. */
export const canResume = (state: string): boolean => CAN_RESUME.has(state);
