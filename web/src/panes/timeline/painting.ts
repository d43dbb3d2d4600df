/** When the picture is drawn, and with which colours. */

import { useEffect, useRef } from "preact/hooks";
import { classColour, resolved } from "../../lib/colours";
import { status } from "../../live/connection";
import type { Palette } from "./draw";

const SOONEST = 100; // milliseconds between two pictures while nothing but time changes

/** Draw after every change, and again whenever time has moved the picture by a pixel or so (`each`, milliseconds). */
export function usePainting(paint: () => void, each: number | null): void {
  const newest = useRef(paint);
  newest.current = paint;
  useEffect(() => {
    const frame = window.requestAnimationFrame(() => newest.current());
    return () => window.cancelAnimationFrame(frame);
  });
  useEffect(() => {
    if (each === null) return;
    let frame = 0;
    const timer = window.setInterval(
      () => {
        if (document.hidden) return;
        window.cancelAnimationFrame(frame);
        frame = window.requestAnimationFrame(() => newest.current());
      },
      Math.max(SOONEST, each),
    );
    return () => {
      window.clearInterval(timer);
      window.cancelAnimationFrame(frame);
    };
  }, [each]);
}

/** Since when the oldest waiting tuple of each class waits. */
export function stillWaiting(): Map<string, number> {
  const now = status.peek();
  const at = now?.at ?? 0;
  const classes = Object.entries(now?.classes ?? {});
  return new Map(
    classes.filter(([, line]) => line.waiting > 0).map(([name, line]) => [name, at - line.oldest_wait] as const),
  );
}

let mixed: { by: string; palette: Palette } | null = null;

/** The colours of the theme; looked up again only when they may be others. */
export function palette(dark: boolean, classes: readonly string[]): Palette {
  const by = `${dark}|${classes.join("|")}`;
  if (mixed?.by !== by) mixed = { by, palette: lookUp(classes) };
  return mixed.palette;
}

function lookUp(classes: readonly string[]): Palette {
  return {
    text: resolved("--text"),
    quiet: resolved("--text-2"),
    line: resolved("--line"),
    strong: resolved("--line-strong"),
    surface: resolved("--surface"),
    shade: resolved("--surface-2"),
    bad: resolved("--bad"),
    accent: resolved("--accent"),
    classes: new Map(classes.map((name) => [name, resolved(classColour(name))])),
    other: resolved("--class-other"),
    font: `12px ${resolved("--sans")}`,
  };
}
