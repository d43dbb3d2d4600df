import { useMemo } from "preact/hooks";
import type { LatencyCurve, QueryDetails } from "../../../api/types";
import type { Answer } from "../../../lib/polling";
import { Chart, type Line } from "../../../ui/chart";
import { Empty, Panel } from "../../../ui/panel";
import { Loading, ProblemBox } from "../../../ui/problem_box";
import { chooseRange, RANGES, rangeNow } from "./curve";

interface LatencyPanelProps {
  curve: Answer<LatencyCurve>;
  query: QueryDetails;
  onPick: (at: number) => void;
  mark?: number | null;
  hint: string;
  height?: number;
}

/** How long results took, over time, with the target. */
export function LatencyPanel({ curve, query, onPick, mark = null, hint, height = 200 }: LatencyPanelProps) {
  const { data, error, loading, reload } = curve;
  const target = query.target_status?.seconds;
  const lines = useMemo(() => (data ? linesOf(data, target) : []), [data, target]);
  const pick = (at: number) => onPick(at - (data?.step ?? 0) / 2);
  return (
    <Panel title="Latency" note={hint} actions={<Ranges />}>
      {loading && <Loading />}
      {error?.status !== 404 && <ProblemBox problem={error} retry={reload} />}
      {data && !hasResults(data) && (
        <Empty title="No results in this time">They appear here when the query gives some.</Empty>
      )}
      {data && hasResults(data) && (
        <Chart
          label={`How long the results of ${query.name} took over time: p50, p95 and the slowest`}
          at={data.at}
          lines={lines}
          onPick={pick}
          mark={mark}
          height={height}
        />
      )}
    </Panel>
  );
}

const hasResults = (data: LatencyCurve): boolean => data.results.some((there) => Boolean(there));

function linesOf(data: LatencyCurve, target: number | undefined): Line[] {
  const lines: Line[] = [
    { name: "slowest", values: data.max, colour: "var(--class-other)" },
    { name: "p95", values: data.p95, colour: "var(--class-0)" },
    { name: "p50", values: data.p50, colour: "var(--class-1)" },
  ];
  if (target !== undefined)
    lines.push({ name: "target", values: data.at.map(() => target), colour: "var(--text)", dashed: true });
  return lines;
}

function Ranges() {
  const now = rangeNow();
  return (
    <fieldset class="ranges bare" aria-label="How far back">
      {RANGES.map((range) => (
        <button
          key={range.over}
          type="button"
          class={`button small ${range === now ? "on" : ""}`}
          aria-pressed={range === now}
          onClick={() => chooseRange(range.over)}
        >
          {range.title}
        </button>
      ))}
    </fieldset>
  );
}
