/** The newest results of a query as they come. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, pathOf, withQuery } from "../../../api/client";
import { parseExact } from "../../../lib/exact_json";
import { reconnections } from "../../../live/connection";

export const KEPT = 200; // rows
const RETRY = 2000; // milliseconds

export interface ResultRow {
  number: number; // counts what came, so that a row keeps its place on the screen
  values: Record<string, unknown>;
}

export interface Tail {
  rows: readonly ResultRow[]; // the newest first
  came: number; // how many came since it was opened
  state: "connecting" | "live" | "ended" | "failed";
  problem: Problem | null;
}

const NOTHING: Tail = { rows: [], came: 0, state: "connecting", problem: null };

/** Follow the results of a query, beginning with the last ones; while `held`, what is shown stays as it is. */
export function useTail(name: string, held: boolean): Tail {
  const [shown, setShown] = useState<Tail>(NOTHING);
  const newest = useRef<Tail>(NOTHING);
  const isHeld = useRef(held);
  isHeld.current = held;
  const back = reconnections.value;

  useEffect(() => {
    if (!held) setShown(newest.current);
  }, [held]);

  useEffect(() => {
    let frame = 0;
    newest.current = NOTHING;
    const change = (told: Partial<Tail>) => {
      newest.current = { ...newest.current, ...told };
      // Rows may come many times a second: they are drawn at most once for each picture.
      frame ||= window.requestAnimationFrame(() => {
        frame = 0;
        if (isHeld.current) setShown((before) => ({ ...newest.current, rows: before.rows }));
        else setShown(newest.current);
      });
    };
    const stop = follow(name, change, () => newest.current);
    return () => {
      stop();
      window.cancelAnimationFrame(frame);
    };
  }, [name, back]);
  return shown;
}

/** Tell what becomes of the results of a query until the returned function is called; a hidden page follows nothing. */
function follow(name: string, change: (told: Partial<Tail>) => void, now: () => Tail): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  const close = () => {
    window.clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    const opened = new EventSource(withQuery(pathOf("queries", name, "results", "stream"), { from: -KEPT }));
    source = opened;
    opened.addEventListener("begin", () => change({ rows: [], state: "live", problem: null }));
    opened.addEventListener("rows", (event) => {
      const { rows } = parseExact(event.data) as { rows: Record<string, unknown>[] };
      const { came, rows: before } = now();
      change({ rows: withNewer(before, rows, came), came: came + rows.length });
    });
    opened.addEventListener("end", () => {
      close();
      change({ state: "ended" });
    });
    opened.onerror = async () => {
      close();
      change({ state: "connecting" });
      const problem = await why(name);
      if (source || stopped) return;
      if (problem && !problem.passing) change({ state: "failed", problem });
      else timer = window.setTimeout(open, RETRY);
    };
  };
  const seen = () => {
    if (document.hidden) close();
    else if (!source && now().state !== "ended" && now().state !== "failed") open();
  };
  let stopped = false;
  document.addEventListener("visibilitychange", seen);
  seen();
  return () => {
    stopped = true;
    document.removeEventListener("visibilitychange", seen);
    close();
  };
}

/** The newest rows first, of which only the last are kept. */
export function withNewer(
  before: readonly ResultRow[],
  rows: readonly Record<string, unknown>[],
  came: number,
): ResultRow[] {
  const newer = rows.slice(-KEPT).map((values, place) => ({
    number: came + Math.max(0, rows.length - KEPT) + place,
    values,
  }));
  return [...newer.reverse(), ...before].slice(0, KEPT);
}

/** Why results cannot be followed; null if they can. An EventSource does not tell. */
async function why(name: string): Promise<Problem | null> {
  try {
    await get(withQuery(pathOf("queries", name, "results"), { limit: 1 }));
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, String(error));
  }
}
