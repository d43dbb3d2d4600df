/** The newest results of a query as they come. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, pathOf, withQuery } from "../../../api/client";
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
    let timer = 0;
    let frame = 0;
    let gone = false;
    newest.current = NOTHING;
    const change = (tail: Partial<Tail>) => {
      newest.current = { ...newest.current, ...tail };
      // Rows may come many times a second: they are drawn at most once for each picture.
      frame ||= window.requestAnimationFrame(() => {
        frame = 0;
        if (!isHeld.current) setShown(newest.current);
        else setShown((before) => ({ ...newest.current, rows: before.rows }));
      });
    };
    let source: EventSource;
    const open = () => {
      source = new EventSource(withQuery(pathOf("queries", name, "results", "stream"), { from: -KEPT }));
      source.addEventListener("begin", () => change({ rows: [], came: 0, state: "live", problem: null }));
      source.addEventListener("rows", (event) => {
        const { rows } = JSON.parse(event.data) as { rows: Record<string, unknown>[] };
        const { came, rows: before } = newest.current;
        change({ rows: withNewer(before, rows, came), came: came + rows.length });
      });
      source.addEventListener("end", () => {
        source.close();
        change({ state: "ended" });
      });
      source.onerror = () => {
        source.close();
        if (gone) return;
        change({ state: "connecting" });
        void why(name).then((problem) => {
          if (gone) return;
          if (problem && !problem.passing) change({ state: "failed", problem });
          else timer = window.setTimeout(open, RETRY);
        });
      };
    };
    open();
    return () => {
      gone = true;
      source.close();
      window.clearTimeout(timer);
      window.cancelAnimationFrame(frame);
    };
  }, [name, back]);
  return shown;
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
