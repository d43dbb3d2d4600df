/** Asking who would gain and who would lose, while a slider moves: one question at a time, and always about the newest value. */

import { useEffect, useState } from "preact/hooks";
import { Problem, post } from "../../../api/client";
import type { Preview } from "../../../api/types";

const CALM = 350; // milliseconds without a movement before something is asked
const BUSY = 2000; // milliseconds until it is asked again when the server is busy
const LAST = 60; // seconds of the record

export interface Previewed {
  value: number | null; // the priority that `answer` is about
  answer: Preview | null;
  problem: Problem | null;
  asking: boolean;
  busy: boolean; // the server answers somebody else's question; it will be asked again
}

const NOTHING: Previewed = { value: null, answer: null, problem: null, asking: false, busy: false };

/** What another priority of a class would lead to; nothing is asked while `value` is null. */
export function usePreview(name: string, value: number | null): Previewed {
  const [now, setNow] = useState<Previewed>(NOTHING);
  useEffect(() => {
    if (value === null) {
      setNow(NOTHING);
      return;
    }
    const abort = new AbortController();
    let timer = 0;
    const ask = async () => {
      setNow((before) => ({ ...before, asking: true, problem: null }));
      try {
        const answer = await post<Preview>(
          "/v1/policy/preview",
          { priorities: { [name]: value }, last: LAST },
          { signal: abort.signal },
        );
        if (!abort.signal.aborted) setNow({ value, answer, problem: null, asking: false, busy: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        if (problem.status === 429) {
          setNow((before) => ({ ...before, busy: true }));
          timer = window.setTimeout(ask, BUSY);
        } else {
          setNow({ value, answer: null, problem, asking: false, busy: false });
        }
      }
    };
    timer = window.setTimeout(ask, CALM);
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [name, value]);
  return now;
}
