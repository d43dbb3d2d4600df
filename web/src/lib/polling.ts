/** Asking the server, once or again and again, while a component is shown. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { get, Problem } from "../api/client";
import { reconnections } from "../live/connection";

export interface Answer<T> {
  data: T | null; // the newest answer; it stays while the next question fails
  error: Problem | null;
  loading: boolean; // nothing has come yet
  reload: () => void;
}

/**
 * What the server answers to a path; asked again every `each` milliseconds (0: once), when a lost connection is back,
 * and on `reload`. Nothing is asked while `path` is null or the page is hidden.
 */
export function useAnswer<T>(path: string | null, each = 0): Answer<T> {
  const [answer, setAnswer] = useState<{ path: string | null; data: T | null; error: Problem | null }>({
    path: null,
    data: null,
    error: null,
  });
  const [asked, setAsked] = useState(0);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const back = reconnections.value;

  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let timer = 0;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const data = await get<T>(path, abort.signal);
          if (!abort.signal.aborted) setAnswer({ path, data, error: null });
        } catch (error) {
          if (abort.signal.aborted) return;
          const problem = error instanceof Problem ? error : new Problem(0, String(error));
          setAnswer((before) => ({ path, data: before.path === path ? before.data : null, error: problem }));
        }
      }
      if (each && !abort.signal.aborted) timer = window.setTimeout(ask, each);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [path, each, asked, back]);

  const current = answer.path === path;
  return {
    data: current ? answer.data : null,
    error: current ? answer.error : null,
    loading: path !== null && (!current || (answer.data === null && answer.error === null)),
    reload,
  };
}
