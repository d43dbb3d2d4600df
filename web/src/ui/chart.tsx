/** Lines and bands over time, drawn by uPlot in the page's colours. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { resolved } from "../lib/colours";
import { clock, duration } from "../lib/format";
import { isDark } from "../lib/theme";
import { isolated, type Line } from "./chart_lines";

export { type Line, stacked } from "./chart_lines";

interface ChartProps {
  label: string; // what it shows, for those who cannot see it
  at: readonly number[]; // seconds since 1970
  lines: readonly Line[];
  height?: number;
  format?: (value: number | null) => string; // of the values; durations if not given
  onPick?: (at: number) => void; // a click on a moment
  log?: boolean; // a logarithmic axis; values must be above 0
  mark?: number | null; // a moment that is marked by a line
}

/** A chart whose lines share one axis of time; `values` of every line are as many as `at`. */
export function Chart(props: ChartProps) {
  const { label, at, lines, height = 220, format = duration, onPick, log = false, mark = null } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const picked = useRef(onPick);
  picked.current = onPick;
  const newest = useRef<Newest>({ lines, mark });
  newest.current = { lines, mark };
  const dark = isDark();
  const shape = JSON.stringify([
    lines.map((line) => [line.name, line.colour, line.dashed, line.filled, line.stepped]),
    height,
    dark,
    log,
  ]);

  useEffect(() => {
    const host = box.current!;
    const made = new uPlot(options(host.clientWidth, height, newest, format, log), data(at, lines), host);
    plot.current = made;
    made.over.addEventListener("click", () => {
      const place = made.cursor.idx;
      const moment = place === null || place === undefined ? undefined : made.data[0][place];
      if (moment !== undefined) picked.current?.(moment);
    });
    const observer = new ResizeObserver(() => made.setSize({ width: Math.max(120, host.clientWidth), height }));
    observer.observe(host);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(data(at, lines));
  }, [at, lines]);

  useEffect(() => plot.current?.redraw(false), [mark]);

  return <div ref={box} class={`chart ${onPick ? "pickable" : ""}`} role="img" aria-label={label} />;
}

interface Newest {
  lines: readonly Line[];
  mark: number | null;
}

const STEPS = uPlot.paths.bars!({ size: [1, Number.POSITIVE_INFINITY], align: -1 });

const data = (at: readonly number[], lines: readonly Line[]): uPlot.AlignedData =>
  [at as number[], ...lines.map((line) => line.values as (number | null)[])] as uPlot.AlignedData;

function options(
  width: number,
  height: number,
  newest: { current: Newest },
  format: NonNullable<ChartProps["format"]>,
  log: boolean,
): uPlot.Options {
  const { lines } = newest.current;
  const axis = { stroke: resolved("--text-2"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(120, width),
    height,
    hooks: { draw: [(plot) => drawMark(plot, newest.current.mark)] },
    padding: [null, 28, null, null], // for the last moment beside the axis
    cursor: { y: false, points: { size: 6 } },
    scales: { y: log ? { distr: 3 } : { range: (_, __, top) => [0, Math.max(top * 1.05, 1e-6)] } },
    axes: [
      { ...axis, space: 70, size: 30, values: (_, moments) => moments.map((moment) => clock(moment)) },
      { ...axis, size: 76, values: (_, values) => values.map((value) => (value === null ? "" : format(value))) },
    ],
    series: [
      { label: "time", value: (_, moment) => (moment === null ? "–" : clock(moment)) },
      ...lines.map(
        (line, number): uPlot.Series => ({
          label: line.name,
          stroke: resolved(line.colour),
          width: 1.6,
          spanGaps: false,
          points: {
            size: 5,
            fill: resolved(line.colour),
            filter: (plot, at, all) => (all ? null : isolated(plot.data[at]!)),
          },
          value: (_, value, __, place) => {
            const told = newest.current.lines[number]?.told;
            return format(told && place !== null && place !== undefined ? (told[place] ?? null) : value);
          },
          ...(line.dashed && { dash: [5, 4], points: { show: false } }),
          ...(line.stepped && { width: 0, points: { show: false }, paths: STEPS }),
          ...(line.filled && { fill: `color-mix(in srgb, ${resolved(line.colour)} 75%, ${resolved("--surface")})` }),
        }),
      ),
    ],
  };
}

function drawMark(plot: uPlot, moment: number | null): void {
  const { min, max } = plot.scales.x!;
  if (moment === null || moment < (min ?? moment) || moment > (max ?? moment)) return;
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(moment, "x", true));
  ctx.save();
  ctx.strokeStyle = resolved("--text");
  ctx.lineWidth = window.devicePixelRatio;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
