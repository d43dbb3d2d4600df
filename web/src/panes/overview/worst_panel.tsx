import { useMemo } from "preact/hooks";
import type { QueryStatus } from "../../api/types";
import { count, duration } from "../../lib/format";
import { queryPath } from "../../lib/router";
import { status } from "../../live/connection";
import { badness } from "../../live/faults";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark, QueryLink, StateBadge } from "../../ui/marks";
import { Panel } from "../../ui/panel";

const SHOWN = 5;

interface Row extends QueryStatus {
  name: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Query", show: (row) => <QueryLink name={row.name} /> },
  { key: "class", title: "Class", show: (row) => <ClassMark name={row.class} /> },
  { key: "state", title: "State", show: (row) => <StateBadge state={row.state} /> },
  { key: "p95", title: "p95, last 10 s", show: (row) => duration(row.latency.last_10_s.p95), right: true },
  {
    key: "target",
    title: "Target",
    show: (row) => row.target?.target ?? <span class="quiet-text">none</span>,
    right: true,
  },
  { key: "wait", title: "Oldest wait", show: (row) => duration(row.oldest_wait), right: true },
  { key: "waiting", title: "Waiting", show: (row) => count(row.waiting), right: true },
  { key: "why", title: "", show: (row) => <a href={`${queryPath(row.name)}?tab=why`}>why?</a> },
];

/** The queries that are furthest from their targets, or whose tuples wait longest. */
export function WorstPanel() {
  const queries = status.value?.queries;
  const rows = useMemo(() => worst(queries ?? {}), [queries]);
  if (!rows.length) return null;
  return (
    <Panel title="Worst off" note={<a href="/queries">all queries</a>}>
      <DataTable label="The queries worst off" columns={COLUMNS} rows={rows} id={(row) => row.name} />
    </Panel>
  );
}

function worst(queries: Record<string, QueryStatus>): Row[] {
  return Object.entries(queries)
    .filter(([, query]) => query.state !== "ended")
    .map(([name, query]) => ({ ...query, name }))
    .sort((a, b) => badness(b) - badness(a))
    .slice(0, SHOWN);
}
