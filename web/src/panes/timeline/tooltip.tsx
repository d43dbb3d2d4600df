import { clock, count, duration, plural } from "../../lib/format";
import { ClassMark } from "../../ui/marks";
import type { Bar } from "./run_store";

const STATES = {
  done: "",
  running: "still running",
  cancelled: "cancelled for something more important",
  failed: "failed",
  unfinished: "did not end: the engine stopped",
} as const;

/** How a run ended, in words; nothing if well. */
export const stateText = (bar: Bar): string => STATES[bar.run.state];

export const waitOf = (bar: Bar): number => bar.run.began - bar.run.oldest;
export const ranFor = (bar: Bar, now: number): number => (bar.run.ended ?? now) - bar.run.began;

/** What is told of a run when the pointer rests on it. */
export function Tooltip({ bar, x, y, width, now }: { bar: Bar; x: number; y: number; width: number; now: number }) {
  const { run } = bar;
  const right = x > width / 2;
  return (
    <div
      class="timeline-tooltip"
      style={right ? { right: `${width - x + 12}px`, top: `${y + 14}px` } : { left: `${x + 12}px`, top: `${y + 14}px` }}
    >
      <strong>{run.unit}</strong>
      <ClassMark name={run.class} />
      <span>
        {plural(run.members, "query", "queries")}, {count(run.tuples)} {run.tuples === 1 ? "tuple" : "tuples"}
      </span>
      <span>
        waited {duration(waitOf(bar))}, began {clock(run.began)}, ran {duration(ranFor(bar, now))}
      </span>
      {stateText(bar) && <span class={run.state === "failed" ? "bad-text" : ""}>{stateText(bar)}</span>}
    </div>
  );
}
