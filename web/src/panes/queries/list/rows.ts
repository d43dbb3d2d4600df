/** Which rows the list of queries shows; a row is the same object as long as nothing of it has changed. */

import type { QueryStatus } from "../../../api/types";
import type { Sorting } from "../../../ui/data_table";

export type Values = readonly (number | null)[];

export interface Row {
  name: string;
  query: QueryStatus;
  line: Values | undefined; // p95 over the last ten minutes
}

export interface Wanted {
  class: string;
  state: string; // a state, or TROUBLED
  text: string;
}

/** Instead of a state: all queries with which something is wrong. */
export const TROUBLED = "trouble";

/** Rows of all queries; those of `before` stay the same objects where they can. */
export function rowsOf(
  before: ReadonlyMap<string, Row>,
  queries: Readonly<Record<string, QueryStatus>>,
  lines: ReadonlyMap<string, Values>,
): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const [name, query] of Object.entries(queries)) {
    const old = before.get(name);
    const line = lines.get(name);
    rows.set(name, old && old.query === query && old.line === line ? old : { name, query, line });
  }
  return rows;
}

/** Those rows that are wanted. */
export function filtered(rows: Iterable<Row>, wanted: Wanted): Row[] {
  const text = wanted.text.trim().toLowerCase();
  return [...rows].filter(
    ({ name, query }) =>
      (!wanted.class || query.class === wanted.class) &&
      (!wanted.state || (wanted.state === TROUBLED ? isTroubled(query) : query.state === wanted.state)) &&
      (!text || name.toLowerCase().includes(text)),
  );
}

/** Whether something is wrong with a query: it has failed, stalled or missed its target. */
export function isTroubled(query: QueryStatus): boolean {
  return (
    query.state === "suspended" ||
    query.state === "failed" ||
    query.stalled !== undefined ||
    query.is_late ||
    Boolean(query.error) ||
    query.target?.state === "missed" ||
    Boolean(query.target?.overdue)
  );
}

const BY_NAME: Sorting = { key: "name", down: false };

/** The sorting of the address, as `sort=-p95` for the largest first. */
export function sortingOf(text: string | null): Sorting {
  if (!text) return BY_NAME;
  return text.startsWith("-") ? { key: text.slice(1), down: true } : { key: text, down: false };
}
