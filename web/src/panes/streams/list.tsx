import type { StreamStatus } from "../../api/types";
import { count, duration, rate } from "../../lib/format";
import { choose, place } from "../../lib/router";
import { status } from "../../live/connection";
import { may } from "../../live/me";
import { type Column, DataTable } from "../../ui/data_table";
import { QueryLink, StreamLink } from "../../ui/marks";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading } from "../../ui/problem_box";
import { Sparkline } from "../../ui/sparkline";
import { DefineStream } from "./define_stream";
import { curves, type RateCurve } from "./rates";
import { TablesPanel } from "./tables_panel";

interface Row extends StreamStatus {
  name: string;
  curve: RateCurve | undefined;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Stream", value: (row) => row.name, show: (row) => <StreamLink name={row.name} /> },
  { key: "rate", title: "Rate", value: (row) => row.rate, show: (row) => rate(row.rate), right: true },
  {
    key: "curve",
    title: "Lately",
    help: "Its rate since this page was opened",
    show: (row) => <Sparkline values={(row.curve?.rates ?? []).slice(-60)} label={`Rate of ${row.name} lately`} />,
  },
  { key: "tuples", title: "Tuples", value: (row) => row.tuples, show: (row) => count(row.tuples), right: true },
  {
    key: "lag",
    title: "Lag",
    help: "How far behind the slowest query that reads it is",
    value: (row) => row.lag?.oldest_wait,
    show: (row) => (row.lag ? `${duration(row.lag.oldest_wait)}, ${count(row.lag.tuples)} tuples` : "–"),
    right: true,
  },
  {
    key: "slowest",
    title: "Slowest reader",
    value: (row) => row.lag?.query,
    show: (row) => (row.lag ? <QueryLink name={row.lag.query} /> : "–"),
  },
  {
    key: "dead",
    title: "Dead letters",
    value: (row) => row.dead_letters,
    show: (row) => count(row.dead_letters),
    right: true,
  },
  {
    key: "state",
    title: "State",
    value: (row) => (row.error ? 0 : row.finished ? 2 : 1),
    show: (row) => <SourceState stream={row} />,
  },
];

/** All streams, how they are doing, and a form for another one. */
export function StreamList() {
  const streams = status.value?.streams;
  const rows = Object.entries(streams ?? {}).map(([name, one]) => ({ ...one, name, curve: curves.value[name] }));
  const key = place.value.query.get("sort") ?? "";
  const defining = place.value.query.get("new") === "stream" && may("submit");
  return (
    <>
      <PageHead
        title="Streams"
        lead="Rows enter Headgate through streams. They are kept until every query has read them."
        actions={
          may("submit") &&
          !defining && (
            <button type="button" class="button primary" onClick={() => choose({ new: "stream" })}>
              Define a stream
            </button>
          )
        }
      />
      {defining && <DefineStream close={() => choose({ new: null })} />}
      <Panel title="Streams" note={streams && rows.length ? count(rows.length) : ""}>
        {!streams && <Loading what="Asking the server" />}
        {streams && !rows.length && (
          <Empty title="There is no stream yet">
            {may("submit")
              ? "Define one, push some rows, and then write a query over it."
              : "Somebody with the role submit can define one; it appears here."}
          </Empty>
        )}
        {rows.length > 0 && (
          <DataTable
            label="Streams"
            columns={COLUMNS}
            rows={rows}
            id={(row) => row.name}
            sorting={{ key: key.replace(/^-/, "") || "name", down: key.startsWith("-") }}
            onSort={({ key, down }) => choose({ sort: `${down ? "-" : ""}${key}` })}
          />
        )}
      </Panel>
      <TablesPanel />
    </>
  );
}

/** How rows get into a stream now. */
export function SourceState({ stream }: { stream: Pick<StreamStatus, "error" | "note" | "finished"> }) {
  if (stream.error) {
    return (
      <span class="badge bad" title={stream.error}>
        source failed
      </span>
    );
  }
  if (stream.finished) return <span class="badge">finished</span>;
  if (stream.note) {
    return (
      <span class="badge warn" title={stream.note}>
        see its note
      </span>
    );
  }
  return <span class="badge good">open</span>;
}
