/** All queries, with what can be done with them. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { QueryStatus } from "../../../api/types";
import { place } from "../../../lib/router";
import { status } from "../../../live/connection";
import { may } from "../../../live/me";
import { DataTable } from "../../../ui/data_table";
import { Empty, PageHead, Panel } from "../../../ui/panel";
import { Loading } from "../../../ui/problem_box";
import { columnsFor } from "./columns";
import { clearFilters, Filters, keepSorting, wantedNow } from "./filters";
import { useLatencyLines } from "./latency_lines";
import { filtered, type Row, rowsOf, sortingOf } from "./rows";
import { SelectionBar, shown } from "./selection";

const NONE: Readonly<Record<string, QueryStatus>> = {};

export function QueryList() {
  const now = status.value;
  const queries = now?.queries ?? NONE;
  const all = useRows(queries);
  const wanted = wantedNow();
  const { query } = place.value;
  const rows = useMemo(() => filtered(all.values(), wanted), [all, query]);
  const sorting = useMemo(() => sortingOf(query.get("sort")), [query]);
  const steers = may("submit");
  const columns = useMemo(() => columnsFor(steers), [steers]);
  useEffect(() => {
    shown.value = rows.map((row) => row.name);
  }, [rows]);
  if (!now) return <Loading what="Asking the server for its queries" />;
  if (!now.classes) {
    return (
      <>
        <PageHead title="Queries" />
        <Empty title="The engine is not ready">Queries are shown here as soon as it is.</Empty>
      </>
    );
  }
  if (all.size === 0) return <NoQueries streams={Object.keys(now.streams ?? {}).length} />;
  return (
    <>
      <PageHead
        title="Queries"
        lead="All queries that are known, with response times of the last 10 s."
        actions={
          steers && (
            <a class="button primary" href="/new">
              New query
            </a>
          )
        }
      />
      <Panel
        class="query-list"
        title={rows.length === all.size ? `${all.size} queries` : `${rows.length} of ${all.size} queries`}
      >
        <div class="list-bar">
          <Filters queries={queries} />
          {steers && <SelectionBar queries={queries} />}
        </div>
        {rows.length ? (
          <DataTable
            label="Queries"
            columns={columns}
            rows={rows}
            id={(row) => row.name}
            sorting={sorting}
            onSort={keepSorting}
            steady
            keepPlace="queries"
          />
        ) : (
          <Empty title="No query is like that">
            <button type="button" class="button" onClick={clearFilters}>
              Show all queries
            </button>
          </Empty>
        )}
      </Panel>
    </>
  );
}

function useRows(queries: Readonly<Record<string, QueryStatus>>): ReadonlyMap<string, Row> {
  const lines = useLatencyLines();
  const before = useRef<ReadonlyMap<string, Row>>(new Map());
  return useMemo(() => {
    before.current = rowsOf(before.current, queries, lines);
    return before.current;
  }, [queries, lines]);
}

function NoQueries({ streams }: { streams: number }) {
  return (
    <>
      <PageHead title="Queries" />
      <Panel title="First steps">
        <Empty title="There is no query yet">
          {!may("submit") ? (
            <p>Somebody with the role submit can start queries; they appear here.</p>
          ) : streams ? (
            <a class="button primary" href="/new">
              Write a query
            </a>
          ) : (
            <p>
              <a href="/streams?new=stream">Define a stream</a> first, and then write a query over it.
            </p>
          )}
        </Empty>
      </Panel>
    </>
  );
}
