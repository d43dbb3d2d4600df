import type { StreamStatus } from "../../api/types";
import { count, duration, rate } from "../../lib/format";
import { status } from "../../live/connection";
import { type Column, DataTable } from "../../ui/data_table";
import { QueryLink, StreamLink } from "../../ui/marks";
import { Panel } from "../../ui/panel";

interface Row extends StreamStatus {
  name: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Stream", value: (row) => row.name, show: (row) => <StreamLink name={row.name} /> },
  { key: "rate", title: "Rate", value: (row) => row.rate, show: (row) => rate(row.rate), right: true },
  {
    key: "lag",
    title: "Lag",
    help: "How far behind the slowest query that reads it is",
    value: (row) => row.lag?.oldest_wait,
    show: (row) => (row.lag ? `${duration(row.lag.oldest_wait)}, ${count(row.lag.tuples)} tuples` : "–"),
    right: true,
  },
  { key: "slowest", title: "Slowest reader", show: (row) => (row.lag ? <QueryLink name={row.lag.query} /> : "–") },
  {
    key: "dead",
    title: "Dead letters",
    value: (row) => row.dead_letters,
    show: (row) => count(row.dead_letters),
    right: true,
  },
  { key: "state", title: "", show: (row) => <SourceState row={row} /> },
];

/** How fast rows come, and who is behind. */
export function StreamsPanel() {
  const rows = Object.entries(status.value?.streams ?? {}).map(([name, stream]) => ({ ...stream, name }));
  if (!rows.length) return null;
  return (
    <Panel title="Streams">
      <DataTable label="Streams" columns={COLUMNS} rows={rows} id={(row) => row.name} />
    </Panel>
  );
}

function SourceState({ row }: { row: Row }) {
  if (row.error)
    return (
      <span class="badge bad" title={row.error}>
        source failed
      </span>
    );
  if (row.finished) return <span class="badge">finished</span>;
  return null;
}
