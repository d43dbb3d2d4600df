/** Lists of which the server gives a page at a time. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { get, Problem, withQuery } from "../api/client";
import type { Page } from "../api/types";
import { reconnections } from "../live/connection";
import type { Answer } from "./polling";

const AT_ONCE = 100;

/** All items of a list, from all of its pages. */
export async function getAll<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await get<Page<T>>(withQuery(path, { limit: AT_ONCE, cursor }), signal);
    items.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor);
  return items;
}

/** All items of a list; asked once, when a lost connection is back, when `version` changes, and on `reload`. */
export function useAll<T>(path: string, version = ""): Answer<T[]> {
  const [data, setData] = useState<T[] | null>(null);
  const [error, setError] = useState<Problem | null>(null);
  const [asked, setAsked] = useState(0);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const back = reconnections.value;
  useEffect(() => {
    const abort = new AbortController();
    getAll<T>(path, abort.signal).then(
      (items) => {
        setData(items);
        setError(null);
      },
      (problem) => {
        if (!abort.signal.aborted) setError(problem instanceof Problem ? problem : new Problem(0, String(problem)));
      },
    );
    return () => abort.abort();
  }, [path, version, asked, back]);
  return { data, error, loading: data === null && error === null, reload };
}
