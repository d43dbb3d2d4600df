/** The small latency lines of all queries: read once, then only what is new. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, withQuery } from "../../../api/client";
import type { Latencies } from "../../../api/types";
import { reconnections } from "../../../live/connection";
import type { Values } from "./rows";

const EACH = 5000; // milliseconds
const KEPT = 120; // values of a line

export interface Lines {
  at: readonly number[];
  queries: ReadonlyMap<string, Values>;
}

export const NO_LINES: Lines = { at: [], queries: new Map() };

/** The p95 of each query over the last ten minutes, by its name. */
export function useLatencyLines(): ReadonlyMap<string, Values> {
  const [lines, setLines] = useState<Lines>(NO_LINES);
  const newest = useRef(lines);
  const back = reconnections.value;
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    newest.current = NO_LINES; // a server that was away has begun anew
    const ask = async () => {
      if (!document.hidden) {
        try {
          const after = newest.current.at.at(-1);
          const more = await get<Latencies>(withQuery("/v1/latencies", { after }), abort.signal);
          newest.current = extended(newest.current, more);
          setLines(newest.current);
        } catch {
          if (abort.signal.aborted) return; // otherwise the lines stay as they are, and are asked for again
        }
      }
      timer = window.setTimeout(ask, EACH);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [back]);
  return lines.queries;
}

/** Lines with newer values at their ends; queries that the answer does not have are gone. */
export function extended(before: Lines, more: Pick<Latencies, "at" | "queries">): Lines {
  const last = before.at.at(-1) ?? Number.NEGATIVE_INFINITY;
  const found = more.at.findIndex((moment) => moment > last);
  if (found < 0) return before;
  const at = [...before.at, ...more.at.slice(found)].slice(-KEPT);
  const unknown = before.at.map(() => null);
  const queries = new Map<string, Values>();
  for (const [name, values] of Object.entries(more.queries)) {
    queries.set(name, [...(before.queries.get(name) ?? unknown), ...values.slice(found)].slice(-KEPT));
  }
  return { at, queries };
}
