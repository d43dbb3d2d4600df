/** The picture of the timeline: drag, wheel and keys move through time, a click chooses a run. */

import { useEffect, useRef, useState } from "preact/hooks";
import { classColour, classRanks, resolved } from "../../lib/colours";
import { isDark } from "../../lib/theme";
import { status } from "../../live/connection";
import { ClassMark } from "../../ui/marks";
import { draw, type Palette } from "./draw";
import { AXIS, barAt, HEADING, heightOf, type Rows, WAIT_ROW, WORKER_ROW } from "./rows";
import type { Bar, RunStore } from "./run_store";
import type { Shown } from "./shown";
import { clamped, momentAt, spanOf, type View, zoomed } from "./time_scale";
import { Tooltip } from "./tooltip";
import type { LiveRuns } from "./use_runs";

interface BoardProps {
  live: LiveRuns;
  shown: Shown;
  chosen: Bar | undefined;
  describedBy: string;
  onShow: (shown: Shown) => void;
  onChoose: (bar: Bar | undefined) => void;
}

const DRAG = 4; // pixels that a pointer moves before it drags
const SOONEST = 100; // milliseconds between two pictures while nothing but time changes
const ZOOM = 1.5;
const PAN = 0.2; // of the span
const PANS: Record<string, number> = { ArrowLeft: -PAN, ArrowRight: PAN };

export function Board({ live, shown, chosen, describedBy, onShow, onChoose }: BoardProps) {
  const { store } = live;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [hovered, setHovered] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);

  const rows: Rows = { workers: Math.max(1, store.workers), classes: classesOf(store) };
  const height = heightOf(rows);
  const viewNow = (): View => viewOf(shown, live.edge());

  const paint = () => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || !canvas.current) return;
    const scale = window.devicePixelRatio || 1;
    if (canvas.current.width !== Math.round(width * scale) || canvas.current.height !== Math.round(height * scale)) {
      canvas.current.width = Math.round(width * scale);
      canvas.current.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const view = viewNow();
    draw(pen, {
      store,
      rows,
      view,
      width,
      palette: palette(isDark(), rows.classes),
      chosen,
      hovered: hovered?.bar,
      stillWaiting: stillWaiting(),
    });
  };
  usePainting(paint, shown.end === null ? (shown.span / width) * 500 : null);

  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(120, box.current?.clientWidth ?? 600)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const show = (view: View, follow = false) => {
    const within = clamped(view, Math.min(store.keptFrom, live.edge()), live.edge());
    onShow({ end: follow ? null : within.to, span: spanOf(within) });
  };
  const zoom = (factor: number, fixed?: number) => {
    const view = viewNow();
    const isLive = shown.end === null;
    show(zoomed(view, factor, isLive ? view.to : (fixed ?? (view.from + view.to) / 2)), isLive);
  };
  const pan = (share: number) => {
    const view = viewNow();
    const by = spanOf(view) * share;
    show({ from: view.from + by, to: view.to + by });
  };

  useWheel(canvas, (event) => {
    const view = viewNow();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      pan(event.deltaX / width);
      return;
    }
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), momentAt(event.offsetX, view, width));
  });

  const found = (event: PointerEvent): Bar | null => barAt(store, rows, viewNow(), width, event.offsetX, event.offsetY);

  const moved = (event: PointerEvent) => {
    const from = drag.current;
    if (!from) {
      const bar = found(event);
      setHovered(bar && { bar, x: event.offsetX, y: event.offsetY });
      return;
    }
    const by = event.offsetX - from.x;
    if (!from.moved && Math.abs(by) < DRAG) return;
    from.moved = true;
    setHovered(null);
    const seconds = (by / width) * spanOf(from.view);
    show({ from: from.view.from - seconds, to: from.view.to - seconds });
  };
  const released = (event: PointerEvent) => {
    if (drag.current && !drag.current.moved) {
      const bar = found(event);
      if (bar && shown.end === null) show(viewNow()); // so that it does not run away
      onChoose(bar ?? undefined);
    }
    drag.current = null;
  };

  const choose = (bar: Bar | undefined) => {
    if (!bar) return;
    const view = viewNow();
    const span = spanOf(view);
    if (bar.run.began < view.from || bar.run.began > view.to) {
      show({ from: bar.run.began - span / 2, to: bar.run.began + span / 2 });
    } else if (shown.end === null) show(view);
    onChoose(bar);
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => (chosen ? choose(store.neighbour(chosen, -1)) : pan(-PAN)),
    ArrowRight: () => (chosen ? choose(store.neighbour(chosen, 1)) : pan(PAN)),
    ArrowUp: () => chosen && choose(store.onWorker(chosen.run.worker - 1, chosen.run.began)),
    ArrowDown: () => chosen && choose(store.onWorker(chosen.run.worker + 1, chosen.run.began)),
    Enter: () => choose(chosen ?? store.bars.findLast((bar) => bar.run.began <= viewNow().to)),
    Escape: () => onChoose(undefined),
    "+": () => zoom(1 / ZOOM, chosen?.run.began),
    "=": () => zoom(1 / ZOOM, chosen?.run.began),
    "-": () => zoom(ZOOM, chosen?.run.began),
    End: () => onShow({ ...shown, end: null }),
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = (event.shiftKey && PANS[event.key] ? () => pan(PANS[event.key]!) : null) ?? keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  return (
    <div class="timeline-board">
      <RowNames rows={rows} overlapping={store.overlapping} />
      <div class="picture" ref={box} style={{ height: `${height}px` }}>
        {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a picture with keys of its own */}
        <canvas
          ref={canvas}
          role="application"
          aria-label="Timeline of runs"
          aria-describedby={describedBy}
          tabIndex={0}
          style={{ width: `${width}px`, height: `${height}px` }}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = { x: event.offsetX, view: viewNow(), moved: false };
          }}
          onPointerMove={moved}
          onPointerUp={released}
          onPointerCancel={() => (drag.current = null)}
          onPointerLeave={() => setHovered(null)}
          onKeyDown={pressed}
        />
        {hovered && <Tooltip bar={hovered.bar} x={hovered.x} y={hovered.y} width={width} now={store.at} />}
      </div>
    </div>
  );
}

/** The classes, the most important first; those of old runs until the engine has told them. */
function classesOf(store: RunStore): string[] {
  const known = [...classRanks.value.keys()];
  return known.length ? known : [...new Set(store.bars.map((bar) => bar.run.class))].sort();
}

/** The stretch of time that is shown now. */
export const viewOf = ({ end, span }: Shown, edge: number): View => ({ from: (end ?? edge) - span, to: end ?? edge });

function RowNames({ rows, overlapping }: { rows: Rows; overlapping: boolean }) {
  return (
    <div class="row-names" aria-hidden="true">
      <div style={{ height: `${AXIS}px` }} />
      {Array.from({ length: rows.workers }, (_, worker) => (
        <div key={worker} style={{ height: `${WORKER_ROW}px` }}>
          {overlapping ? "your runs" : `worker ${worker}`}
        </div>
      ))}
      <div style={{ height: `${HEADING}px` }} />
      {rows.classes.map((name) => (
        <div key={name} style={{ height: `${WAIT_ROW}px` }} title={name}>
          <ClassMark name={name} />
        </div>
      ))}
    </div>
  );
}

/** Draw after every change, and again whenever time has moved the picture by a pixel or so (`each`, milliseconds). */
function usePainting(paint: () => void, each: number | null): void {
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

/** Wheels over an element, which then do not scroll the page. */
function useWheel(element: { current: HTMLElement | null }, turned: (event: WheelEvent) => void): void {
  const newest = useRef(turned);
  newest.current = turned;
  useEffect(() => {
    const on = element.current;
    const listen = (event: WheelEvent) => {
      if (event.ctrlKey) return; // the browser's own zoom
      event.preventDefault();
      newest.current(event);
    };
    on?.addEventListener("wheel", listen, { passive: false });
    return () => on?.removeEventListener("wheel", listen);
  }, [element]);
}

/** Since when the oldest waiting tuple of each class waits. */
function stillWaiting(): Map<string, number> {
  const now = status.peek();
  const at = now?.at ?? 0;
  const classes = Object.entries(now?.classes ?? {});
  return new Map(
    classes.filter(([, line]) => line.waiting > 0).map(([name, line]) => [name, at - line.oldest_wait] as const),
  );
}

let mixed: { by: string; palette: Palette } | null = null;

/** The colours of the theme; looked up again only when they may be others. */
function palette(dark: boolean, classes: readonly string[]): Palette {
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
