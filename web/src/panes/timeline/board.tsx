/** The picture of the timeline: drag, wheel and keys move through time, a click chooses a run. */

import { useEffect, useRef, useState } from "preact/hooks";
import { classRanks } from "../../lib/colours";
import { isDark } from "../../lib/theme";
import { ClassMark } from "../../ui/marks";
import { draw } from "./draw";
import { Moves, type Moving, useWheel } from "./moves";
import { palette, stillWaiting, usePainting } from "./painting";
import { AXIS, barAt, HEADING, heightOf, type Rows, WAIT_ROW, WORKER_ROW } from "./rows";
import type { Bar, RunStore } from "./run_store";
import { momentAt, spanOf, type View } from "./time_scale";
import { Tooltip } from "./tooltip";

interface BoardProps extends Moving {
  describedBy: string;
}

const DRAG = 4; // pixels that a pointer moves before it drags

export function Board({ live, shown, chosen, describedBy, onShow, onChoose }: BoardProps) {
  const { store } = live;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [hovered, setHovered] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);

  const rows: Rows = { workers: Math.max(1, store.workers), classes: classesOf(store) };
  const height = heightOf(rows);
  const moves = new Moves({ live, shown, chosen, onShow, onChoose });

  const paint = () => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || !canvas.current) return;
    const scale = window.devicePixelRatio || 1;
    if (canvas.current.width !== Math.round(width * scale) || canvas.current.height !== Math.round(height * scale)) {
      canvas.current.width = Math.round(width * scale);
      canvas.current.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    draw(pen, {
      store,
      rows,
      view: moves.view,
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

  useWheel(canvas, (event) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      moves.pan(event.deltaX / width);
      return;
    }
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
    moves.zoom(factor, momentAt(event.offsetX, moves.view, width));
  });

  const found = (event: PointerEvent): Bar | null =>
    barAt(store, rows, moves.view, width, event.offsetX, event.offsetY);

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
    moves.show({ from: from.view.from - seconds, to: from.view.to - seconds });
  };
  const released = (event: PointerEvent) => {
    if (drag.current && !drag.current.moved) {
      const bar = found(event);
      if (bar) moves.choose(bar);
      else onChoose(undefined);
    }
    drag.current = null;
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
            drag.current = { x: event.offsetX, view: moves.view, moved: false };
          }}
          onPointerMove={moved}
          onPointerUp={released}
          onPointerCancel={() => (drag.current = null)}
          onPointerLeave={() => setHovered(null)}
          onKeyDown={(event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            if (moves.press(event.key, event.shiftKey)) event.preventDefault();
          }}
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
