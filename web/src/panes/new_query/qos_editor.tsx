/** A QoS graph that is drawn with the mouse, moved by keys, or typed into a table. */

import { useRef, useState } from "preact/hooks";
import { duration, percent } from "../../lib/format";
import { meaning, movedPoint, nextPoint, type Point, rounded, SPANS, spanFor, withoutPoint, withPoint } from "./qos";

interface QosProps {
  points: Point[];
  onChange: (points: Point[]) => void;
}

const WIDTH = 460;
const HEIGHT = 210;
const LEFT = 48;
const BOTTOM = 34;
const TOP = 12;
const RIGHT = 14;

export function QosEditor({ points, onChange }: QosProps) {
  const [chosen, setChosen] = useState<number | null>(null); // of the widths
  const span = Math.max(chosen ?? 0, spanFor(points));
  return (
    <div class="qos">
      <Graph points={points} span={span} onChange={onChange} />
      <div class="stack">
        <label class="row qos-span">
          Width of the picture
          <select value={String(span)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {[...new Set([...SPANS.filter((one) => one >= spanFor(points)), span])]
              .sort((a, b) => a - b)
              .map((one) => (
                <option key={one} value={String(one)}>
                  {duration(one)}
                </option>
              ))}
          </select>
        </label>
        <PointTable points={points} onChange={onChange} />
      </div>
      <p class="qos-meaning">{meaning(points)}</p>
    </div>
  );
}

function Graph({ points, span, onChange }: QosProps & { span: number }) {
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<{ at: number; span: number } | null>(null);
  const wide = drag?.span ?? span; // the picture keeps its width while something is dragged
  const x = (latency: number) => LEFT + (latency / wide) * (WIDTH - LEFT - RIGHT);
  const y = (worth: number) => TOP + (1 - worth) * (HEIGHT - TOP - BOTTOM);
  const pointAt = (event: MouseEvent): Point => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.current!.getScreenCTM()!.inverse());
    const latency = ((place.x - LEFT) / (WIDTH - LEFT - RIGHT)) * wide;
    const worth = 1 - (place.y - TOP) / (HEIGHT - TOP - BOTTOM);
    return rounded([Math.min(wide, Math.max(0, latency)), Math.min(1, Math.max(0, worth))], wide);
  };
  const line = points.map(([latency, worth]) => `${x(latency)},${y(worth)}`);
  const first = points[0]?.[1] ?? 1;
  const last = points.at(-1)?.[1] ?? 0;
  const whole = [`${x(0)},${y(first)}`, ...line, `${WIDTH - RIGHT},${y(last)}`];
  return (
    <fieldset class="plain">
      <legend class="hidden-text">QoS graph</legend>
      <svg
        ref={svg}
        class="qos-graph"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          const made = withPoint(points, pointAt(event));
          onChange(made.points);
          setDrag({ at: made.at, span: wide });
          svg.current!.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => drag && onChange(movedPoint(points, drag.at, pointAt(event)))}
        onPointerUp={() => setDrag(null)}
        onPointerCancel={() => setDrag(null)}
        onDblClick={(event) => {
          const [latency, worth] = pointAt(event); // what captured the pointer gets the event, not the point itself
          const distance = (point: Point) => Math.hypot(x(point[0]) - x(latency), y(point[1]) - y(worth));
          const at = points.findIndex((point) => distance(point) < 12);
          if (at >= 0) onChange(withoutPoint(points, at));
        }}
      >
        <title>Click to add a point</title>
        <Axes x={x} y={y} span={wide} />
        <polygon class="qos-area" points={[`${x(0)},${y(0)}`, ...whole, `${WIDTH - RIGHT},${y(0)}`].join(" ")} />
        <polyline class="qos-line" points={whole.join(" ")} />
        {points.map((point, at) => (
          <Handle
            key={at}
            number={at + 1}
            point={point}
            span={wide}
            centre={[x(point[0]), y(point[1])]}
            onGrab={(event) => {
              setDrag({ at, span: wide });
              svg.current!.setPointerCapture(event.pointerId);
            }}
            onMove={(to) => onChange(movedPoint(points, at, rounded(to, wide)))}
            onRemove={() => onChange(withoutPoint(points, at))}
          />
        ))}
      </svg>
    </fieldset>
  );
}

function Axes({ x, y, span }: { x: (latency: number) => number; y: (worth: number) => number; span: number }) {
  return (
    <g class="qos-axes">
      {[0, 0.5, 1].map((worth) => (
        <g key={worth}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(worth)} y2={y(worth)} />
          <text x={LEFT - 6} y={y(worth) + 4} text-anchor="end">
            {percent(worth)}
          </text>
        </g>
      ))}
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <text key={share} x={x(share * span)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
          {duration(share * span)}
        </text>
      ))}
      <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 3} text-anchor="middle">
        how long a result takes
      </text>
    </g>
  );
}

interface HandleProps {
  number: number;
  point: Point;
  span: number;
  centre: [number, number];
  onGrab: (event: PointerEvent) => void;
  onMove: (to: Point) => void;
  onRemove: () => void;
}

function Handle({ number, point: [latency, worth], span, centre, onGrab, onMove, onRemove }: HandleProps) {
  const told = `${duration(latency)}, worth ${percent(worth)}`;
  const keys: Record<string, () => void> = {
    ArrowLeft: () => onMove([latency - span / 40, worth]),
    ArrowRight: () => onMove([latency + span / 40, worth]),
    ArrowUp: () => onMove([latency, worth + 0.05]),
    ArrowDown: () => onMove([latency, worth - 0.05]),
    Delete: onRemove,
    Backspace: onRemove,
  };
  return (
    <circle
      class="qos-point"
      cx={centre[0]}
      cy={centre[1]}
      r="7"
      role="slider"
      tabindex={0}
      aria-label={`Point ${number}: arrow keys move it, Delete removes it`}
      aria-valuenow={worth}
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuetext={told}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.focus();
        onGrab(event);
      }}
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        act();
      }}
    >
      <title>{`${told}. Drag it; double-click removes it.`}</title>
    </circle>
  );
}

function PointTable({ points, onChange }: QosProps) {
  const set = (at: number, point: Point) => onChange(movedPoint(points, at, point));
  return (
    <div>
      <table class="qos-table">
        <thead>
          <tr>
            <th scope="col">Takes (s)</th>
            <th scope="col">Worth (0 to 1)</th>
            <th scope="col">
              <span class="hidden-text">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map(([latency, worth], at) => (
            <tr key={at}>
              <td>
                <NumberInput
                  label={`Seconds of point ${at + 1}`}
                  value={latency}
                  onSet={(to) => set(at, [to, worth])}
                />
              </td>
              <td>
                <NumberInput label={`Worth of point ${at + 1}`} value={worth} onSet={(to) => set(at, [latency, to])} />
              </td>
              <td>
                <button
                  type="button"
                  class="button quiet"
                  disabled={points.length < 2}
                  aria-label={`Remove point ${at + 1}`}
                  onClick={() => onChange(withoutPoint(points, at))}
                >
                  ✕
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" class="button" onClick={() => onChange([...points, nextPoint(points)])}>
        Add a point
      </button>
    </div>
  );
}

/** Takes over what is typed when it is left, so that a half-written number moves nothing. */
function NumberInput({ label, value, onSet }: { label: string; value: number; onSet: (value: number) => void }) {
  return (
    <input
      type="number"
      min="0"
      step="any"
      aria-label={label}
      value={value}
      onChange={(event) => {
        const typed = event.currentTarget.valueAsNumber;
        if (Number.isFinite(typed)) onSet(typed);
        event.currentTarget.value = String(value); // the next drawing shows what became of it
      }}
    />
  );
}
