import { useMemo } from "preact/hooks";
import type { ClassStatus } from "../../api/types";
import { count, duration, percent, rate } from "../../lib/format";
import { status } from "../../live/connection";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark } from "../../ui/marks";
import { Panel } from "../../ui/panel";

interface Row extends ClassStatus {
  name: string;
  inverted: { below: string; ratio: number } | undefined;
}

const last = (row: Row) => row.latency.last_minute;

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Class", show: (row) => <ClassMark name={row.name} /> },
  { key: "priority", title: "Priority", value: (row) => row.priority, show: (row) => count(row.priority), right: true },
  { key: "queries", title: "Queries", value: (row) => row.queries, show: (row) => count(row.queries), right: true },
  {
    key: "p50",
    title: "p50",
    help: "Half of the results of the last minute took at most this long",
    value: (row) => last(row).p50,
    show: (row) => duration(last(row).p50),
    right: true,
  },
  { key: "p95", title: "p95", value: (row) => last(row).p95, show: (row) => duration(last(row).p95), right: true },
  { key: "p99", title: "p99", value: (row) => last(row).p99, show: (row) => duration(last(row).p99), right: true },
  {
    key: "targets",
    title: "Targets met",
    help: "How many of its queries meet their target now",
    show: (row) => <Targets row={row} />,
    right: true,
  },
  {
    key: "wait",
    title: "Oldest wait",
    help: "How long the oldest waiting tuple has waited",
    value: (row) => row.oldest_wait,
    show: (row) => duration(row.oldest_wait),
    right: true,
  },
  { key: "waiting", title: "Waiting", value: (row) => row.waiting, show: (row) => count(row.waiting), right: true },
  { key: "rate", title: "Tuples", value: (row) => row.rate, show: (row) => rate(row.rate), right: true },
  {
    key: "load",
    title: "Load",
    help: "Its share of the workers' time in the last 10 s",
    value: (row) => row.load,
    show: (row) => percent(row.load),
    right: true,
  },
  {
    key: "inversion",
    title: "Inversion",
    help: "How many times later it answers than the next less important class; above 1 is an inversion",
    value: (row) => row.inverted?.ratio,
    show: (row) => <Inversion row={row} />,
    right: true,
  },
  {
    key: "dead",
    title: "Dead letters",
    help: "Tuples that could not be processed",
    value: (row) => row.dead_letters,
    show: (row) => <span class={row.dead_letters ? "warn-text" : ""}>{count(row.dead_letters)}</span>,
    right: true,
  },
];

/** How each class does. */
export function ClassesPanel() {
  const now = status.value;
  const rows = useMemo(() => rowsOf(now?.classes ?? {}, now?.inversion ?? {}), [now?.classes, now?.inversion]);
  if (!rows.length) return null;
  return (
    <Panel title="Classes" note="response times of the last minute">
      <DataTable label="Classes" columns={COLUMNS} rows={rows} id={(row) => row.name} />
    </Panel>
  );
}

function rowsOf(
  classes: Record<string, ClassStatus>,
  inversion: Record<string, { below: string; ratio: number }>,
): Row[] {
  return Object.entries(classes)
    .map(([name, line]) => ({ ...line, name, inverted: inversion[name] }))
    .sort((a, b) => b.priority - a.priority);
}

function Targets({ row }: { row: Row }) {
  if (!row.targets) return <span class="quiet-text">none</span>;
  const { met, missed } = row.targets;
  if (!met && !missed) return <span class="quiet-text">no results</span>;
  return (
    <span class={missed ? "bad-text" : "good-text"}>
      {met} of {met + missed}
    </span>
  );
}

function Inversion({ row }: { row: Row }) {
  if (!row.inverted) return <>–</>;
  const { ratio, below } = row.inverted;
  return (
    <a
      class={ratio > 1 ? "bad-text" : ""}
      href="/inversions"
      title={`its median is ${ratio.toFixed(2)} times that of ${below}`}
    >
      {ratio.toFixed(2)} ×
    </a>
  );
}
