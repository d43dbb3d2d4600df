/** Dots for mean and p95 of every policy, one picture for each class, all with the same axis. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Judged, WhatIfAnswer } from "../../api/deciding_types";
import { classColour } from "../../lib/colours";
import { duration } from "../../lib/format";
import { ClassMark, cssVariables } from "../../ui/marks";
import { linearScale, logScale, type Scale } from "./scale";

const ROW = 24;
const AXIS = 22;
const LABEL = 250; // at most
const LETTER = 7.2;
const SURE = 0.05; // changes below this say nothing, however small the error is

interface PictureRow {
  label: string;
  judged: Judged;
  known: boolean; // recorded or its replay, not a candidate
}

/** The recorded policy, its replay, and the candidates from the best on. */
export function Picture({ answer, log }: { answer: WhatIfAnswer; log: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const rows = useMemo(() => rowsOf(answer), [answer]);
  const classes = Object.keys(answer.recorded.classes);
  const scale = useMemo(() => {
    const values = rows.flatMap((row) =>
      classes.flatMap((name) => {
        const times = row.judged.classes[name]?.response_time;
        return [times?.mean, times?.p95].filter((value) => typeof value === "number");
      }),
    );
    return (log ? logScale : linearScale)(values);
  }, [rows, log]);
  return (
    <div ref={box} class="what-if-picture">
      <ul class="legend">
        <li>
          <svg width="14" height="12" aria-hidden="true">
            <circle cx="7" cy="6" r="5" class="key" />
          </svg>{" "}
          mean
        </li>
        <li>
          <svg width="14" height="12" aria-hidden="true">
            <circle cx="7" cy="6" r="4" class="key hollow" />
          </svg>{" "}
          p95
        </li>
        <li>
          <svg width="14" height="12" aria-hidden="true">
            <rect width="14" height="12" class="band" />
          </svg>{" "}
          as the recorded policy's replay, within its error: a mean in here says nothing
        </li>
      </ul>
      {width > 0 &&
        classes.map((name) => (
          <ClassPicture key={name} name={name} rows={rows} answer={answer} scale={scale} width={width} />
        ))}
    </div>
  );
}

function rowsOf(answer: WhatIfAnswer): PictureRow[] {
  return [
    { label: `recorded: ${answer.recorded.policy}`, judged: answer.recorded, known: true },
    { label: "replayed", judged: answer.replayed, known: true },
    ...answer.ranking.map((policy, rank) => ({
      label: `${rank + 1}. ${policy}`,
      judged: answer.policies[policy]!,
      known: false,
    })),
  ];
}

interface ClassPictureProps {
  name: string;
  rows: readonly PictureRow[];
  answer: WhatIfAnswer;
  scale: Scale;
  width: number;
}

function ClassPicture({ name, rows, answer, scale, width }: ClassPictureProps) {
  const longest = Math.max(...rows.map((row) => row.label.length)) * LETTER + 8;
  const label = Math.min(LABEL, longest, width * 0.36);
  const x = (value: number) => label + 8 + scale.place(value) * (width - label - 20);
  const height = rows.length * ROW;
  const base = answer.replayed.classes[name]?.response_time.mean;
  const error = Math.max(SURE, answer.error[name] ?? 0);
  const told = rows.map((row) => `${row.label} ${duration(row.judged.classes[name]?.response_time.mean)}`).join(", ");
  return (
    <figure style={cssVariables({ "--colour": classColour(name) })}>
      <figcaption>
        <ClassMark name={name} />
      </figcaption>
      <svg width={width} height={height + AXIS} role="img" aria-label={`Mean response times of ${name}: ${told}`}>
        {base !== null && base !== undefined && (
          <rect
            class="band"
            x={x(base * (1 - Math.min(0.999, error)))}
            width={Math.max(1, x(base * (1 + error)) - x(base * (1 - Math.min(0.999, error))))}
            height={height}
          />
        )}
        {thinned(scale.ticks, x, width).map((tick) => (
          <g key={tick}>
            <line class="tick" x1={x(tick)} x2={x(tick)} y1={0} y2={height} />
            <text class="axis" x={x(tick)} y={height + 15} text-anchor="middle">
              {duration(tick)}
            </text>
          </g>
        ))}
        {rows.map((row, place) => (
          <RowView key={row.label} row={row} name={name} x={x} y={place * ROW + ROW / 2} label={label} />
        ))}
      </svg>
    </figure>
  );
}

/** Ticks that are far enough from each other to be read. */
function thinned(ticks: readonly number[], x: (value: number) => number, width: number): number[] {
  let last = Number.NEGATIVE_INFINITY;
  return ticks.filter((tick) => {
    if (x(tick) - last < 58 || x(tick) > width - 16) return false;
    last = x(tick);
    return true;
  });
}

interface RowViewProps {
  row: PictureRow;
  name: string;
  x: (value: number) => number;
  y: number;
  label: number;
}

function RowView({ row, name, x, y, label }: RowViewProps) {
  const times = row.judged.classes[name]?.response_time;
  const { mean, p95 } = times ?? {};
  return (
    <g class={row.known ? "known" : ""}>
      <title>
        {row.label}: mean {duration(mean)}, p95 {duration(p95)}
      </title>
      <text x={label} y={y + 4} text-anchor="end">
        {shortened(row.label, Math.floor(label / LETTER))}
      </text>
      {typeof mean === "number" && typeof p95 === "number" && (
        <line class="span" x1={x(mean)} x2={x(p95)} y1={y} y2={y} />
      )}
      {typeof p95 === "number" && <circle class="hollow" cx={x(p95)} cy={y} r="4" />}
      {typeof mean === "number" ? (
        <circle cx={x(mean)} cy={y} r="5.5" />
      ) : (
        <text class="axis" x={label + 12} y={y + 4}>
          no results
        </text>
      )}
    </g>
  );
}

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
