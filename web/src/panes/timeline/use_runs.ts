/** Asks for runs once a second while the timeline is shown: at first for a stretch of time, then for what is new. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, withQuery } from "../../api/client";
import type { Runs } from "../../api/types";
import { RunStore } from "./run_store";
import { KEPT } from "./time_scale";

const EACH = 1000; // milliseconds
const FIRST = 60; // seconds asked for at first
const MORE = 30; // seconds asked for beyond what is wanted, so that a little dragging asks nothing
/** How far behind the present the picture is, in seconds: so every moment in it is known when it appears. */
export const BEHIND = 1.3;

export interface LiveRuns {
  store: RunStore;
  version: number; // counts answers
  error: Problem | null;
  edge: () => number; // the newest moment that is shown, on the server's clock
}

/** The runs that are kept; `wantedFrom` says from which moment on they are looked at (0: the earliest). */
export function useRuns(overlapping: boolean, wantedFrom: () => number): LiveRuns {
  const [store] = useState(() => new RunStore(overlapping));
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<Problem | null>(null);
  const ahead = useRef<number | null>(null); // of the server's clock against ours
  const wanted = useRef(wantedFrom);
  wanted.current = wantedFrom;

  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const ask = async () => {
      if (!document.hidden) {
        const since = sinceFor(store, wanted.current());
        try {
          const path = since === undefined ? { cursor: store.cursor! } : { since };
          const answer = await get<Runs>(withQuery("/v1/runs", path), abort.signal);
          ahead.current = smoothed(ahead.current, answer.at - Date.now() / 1000);
          store.add(answer, since);
          setError(null);
        } catch (failure) {
          if (abort.signal.aborted) return;
          if (failure instanceof Problem && !failure.passing) store.cursor = null; // it may be of another server
          setError(failure instanceof Problem ? failure : new Problem(0, String(failure)));
        }
        if (abort.signal.aborted) return;
        setVersion((count) => count + 1);
      }
      timer = window.setTimeout(ask, EACH);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [store]);

  const edge = () => Math.min(store.at, Date.now() / 1000 + (ahead.current ?? 0) - BEHIND);
  return { store, version, error, edge };
}

/** How many seconds to ask for; undefined if what is new is enough. */
export function sinceFor(store: RunStore, wantedFrom: number): number | undefined {
  if (store.cursor === null && store.at === 0) return wantedFrom === 0 ? KEPT : FIRST;
  if (store.cursor === null) return KEPT;
  const missing = Math.max(wantedFrom, store.at - KEPT, store.keptFrom) < store.loadedFrom - 1;
  return missing ? Math.min(KEPT, Math.ceil(store.at - wantedFrom + MORE)) : undefined;
}

/** Differences of clocks vary with the time that answers take; only large changes are followed at once. */
const smoothed = (before: number | null, now: number): number =>
  before === null || Math.abs(now - before) > 1 ? now : before + (now - before) / 8;
