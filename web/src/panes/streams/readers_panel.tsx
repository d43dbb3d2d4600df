import type { QueryStatus, StreamDetails } from "../../api/types";
import { count, duration, percent } from "../../lib/format";
import { status } from "../../live/connection";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark, QueryLink, StateBadge } from "../../ui/marks";
import { Panel } from "../../ui/panel";

interface Row extends QueryStatus {
  name: string;
}

const MOST = 10; // shown above all

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Query", value: (row) => row.name, show: (row) => <QueryLink name={row.name} /> },
  { key: "class", title: "Class", value: (row) => row.class, show: (row) => <ClassMark name={row.class} /> },
  { key: "state", title: "State", value: (row) => row.state, show: (row) => <StateBadge state={row.state} /> },
  { key: "waiting", title: "Waiting", value: (row) => row.waiting, show: (row) => count(row.waiting), right: true },
  {
    key: "oldest",
    title: "Oldest wait",
    value: (row) => row.oldest_wait,
    show: (row) => duration(row.oldest_wait),
    right: true,
  },
  {
    key: "backfill",
    title: "Reads what was kept",
    help: "How far a query is that also reads the tuples from before it was started",
    value: (row) => (row.backfill ? row.backfill.read / row.backfill.of : null),
    show: (row) => <Backfill row={row} />,
  },
];

/** Queries that are still reading what was kept; nothing if there are none. */
export function BackfillPanel({ readers }: { readers: readonly string[] }) {
  const queries = status.value?.queries ?? {};
  const rows = readers.flatMap((name) => (queries[name]?.backfill ? [{ ...queries[name], name }] : []));
  if (!rows.length) return null;
  return (
    <Panel title="Backfill" note="Queries that still read what was kept">
      <ul class="backfills">
        {rows.slice(0, MOST).map((row) => (
          <li key={row.name} class="row">
            <QueryLink name={row.name} />
            <Backfill row={row} />
          </li>
        ))}
      </ul>
      {rows.length > MOST && <p class="quiet-text">and {count(rows.length - MOST)} more</p>}
    </Panel>
  );
}

/** Who reads the stream, and how far those are that read what was kept. */
export function ReadersPanel({ stream, readers }: { stream: StreamDetails; readers: readonly string[] }) {
  const queries = status.value?.queries ?? {};
  const rows = readers.flatMap((name) => (queries[name] ? [{ ...queries[name], name }] : []));
  return (
    <Panel title="Queries that read it" note={rows.length ? count(rows.length) : ""}>
      {rows.length ? (
        <DataTable label={`Queries that read ${stream.name}`} columns={COLUMNS} rows={rows} id={(row) => row.name} />
      ) : (
        <p class="quiet-text">No query reads it.</p>
      )}
    </Panel>
  );
}

function Backfill({ row }: { row: Row }) {
  if (!row.backfill) return <span class="quiet-text">–</span>;
  const { read, of } = row.backfill;
  return (
    <span class="row backfill">
      <progress value={read} max={Math.max(1, of)} aria-label={`Progress of ${row.name}`} />
      <span class="number">
        {percent(of ? read / of : 1)} of {count(of)} tuples
      </span>
    </span>
  );
}
