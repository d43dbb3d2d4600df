/** The dry run while somebody types: what would become of the query, and where the server finds it wrong. */

import { useEffect, useState } from "preact/hooks";
import { Problem, post } from "../../api/client";
import type { DryRunAnswer, NewQueryBody } from "../../api/types";
import { reconnections } from "../../live/connection";

export interface DryRun {
  asking: boolean; // an answer to what is typed now is on its way
  answer: DryRunAnswer | null; // the newest; it may be of a text before, while `asking`
  refused: Problem | null;
  weighing: boolean; // whom it would slow down is being computed
}

const PAUSE = 400; // milliseconds without a key
const LONGER = 1200; // more of them, before the server computes whom it slows down, which takes seconds
const AGAIN = 3000; // until what was refused for the moment is asked again
const UNNAMED = "unnamed-query";
const NOTHING: DryRun = { asking: false, answer: null, refused: null, weighing: false };

/** Ask what would become of a query whenever it has changed; the last question wins. */
export function useDryRun(body: NewQueryBody): DryRun {
  const [found, setFound] = useState<DryRun>(NOTHING);
  const text = JSON.stringify({ ...body, name: body.name || UNNAMED });
  const back = reconnections.value;

  useEffect(() => {
    if (!body.sql.trim()) {
      setFound(NOTHING);
      return;
    }
    const abort = new AbortController();
    let timer = 0;
    const later = (what: () => void, wait: number) => {
      timer = window.setTimeout(what, wait);
    };
    const refuse = (error: unknown, again: () => void) => {
      if (abort.signal.aborted) return;
      const problem = error instanceof Problem ? error : new Problem(0, String(error));
      setFound((before) => ({ ...before, asking: false, weighing: false, refused: problem }));
      if (problem.passing) later(again, AGAIN);
    };
    const check = () =>
      ask(text, false, abort.signal).then(
        (answer) => {
          setFound((before) => ({
            asking: false,
            answer: { ...answer, slows: before.answer?.slows ?? null },
            refused: null,
            weighing: true,
          }));
          later(weigh, LONGER);
        },
        (error) => refuse(error, check),
      );
    const weigh = () =>
      ask(text, true, abort.signal).then(
        (answer) => {
          const busy = answer.slows === null && isBusy(answer.slows_reason);
          setFound({ asking: false, answer, refused: null, weighing: busy });
          if (busy) later(weigh, AGAIN);
        },
        (error) => refuse(error, check),
      );
    setFound((before) => ({ ...before, asking: true, weighing: false }));
    later(check, PAUSE);
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [text, back]);
  return found;
}

const ask = (text: string, slows: boolean, signal: AbortSignal): Promise<DryRunAnswer> =>
  post<DryRunAnswer>(`/v1/queries?dry_run=true&slows=${slows}`, undefined, {
    raw: { type: "application/json", data: text },
    signal,
  });

/** Whether it could not be computed only because something else was being computed. */
const isBusy = (reason: string | null): boolean => /another what-if/.test(reason ?? "");
