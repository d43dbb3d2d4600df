/** A table that sorts by a click on a heading, and draws only the rows that are seen if there are many. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

export interface Column<Row> {
  key: string;
  title: string;
  help?: string; // shown when the pointer rests on the heading
  value?: (row: Row) => number | string | null | undefined; // sorted by; without it the column cannot be sorted
  show: (row: Row) => ComponentChildren;
  right?: boolean; // numbers
}

export interface Sorting {
  key: string;
  down: boolean; // the largest first
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id: (row: Row) => string;
  sorting?: Sorting;
  onSort?: (sorting: Sorting) => void; // to keep it elsewhere, as in the address
}

const ROW = 38; // pixels
const MANY = 60;
const SPARE = 8; // rows beyond both ends of what is seen

export function DataTable<Row>({ label, columns, rows, id, sorting, onSort }: DataTableProps<Row>) {
  const [own, setOwn] = useState<Sorting | null>(null);
  const now = sorting ?? own;
  const sorted = useMemo(() => sortRows(rows, columns, now), [rows, columns, now]);
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);

  const many = sorted.length > MANY;
  const height = box.current?.clientHeight || 800;
  const first = many ? Math.max(0, Math.floor(top / ROW) - SPARE) : 0;
  const last = many ? Math.min(sorted.length, Math.ceil((top + height) / ROW) + SPARE) : sorted.length;
  const sort = (key: string) => (onSort ?? setOwn)({ key, down: now?.key === key ? !now.down : false });

  return (
    <section
      class={`table-box ${many ? "tall" : ""}`}
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={many ? (event) => setTop(event.currentTarget.scrollTop) : undefined}
    >
      <table aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key}
                class={column.right ? "right" : ""}
                scope="col"
                title={column.help}
                aria-sort={now?.key === column.key ? (now.down ? "descending" : "ascending") : undefined}
              >
                {column.value ? (
                  <button type="button" onClick={() => sort(column.key)}>
                    {column.title}
                    {now?.key === column.key && <span aria-hidden="true">{now.down ? " ▾" : " ▴"}</span>}
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer rows={first} columns={columns.length} />
          {sorted.slice(first, last).map((row, at) => (
            <tr key={id(row)} aria-rowindex={first + at + 2}>
              {columns.map((column) => (
                <td key={column.key} class={column.right ? "right" : ""}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
          <Spacer rows={sorted.length - last} columns={columns.length} />
        </tbody>
      </table>
    </section>
  );
}

/** Takes the place of rows that are not drawn. */
function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr>
      <td colSpan={columns} style={{ height: `${rows * ROW}px`, padding: 0 }} />
    </tr>
  );
}

/** Rows in the order of a column; those without a value come last, whichever way it is sorted. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | null,
): readonly Row[] {
  const value = columns.find((column) => column.key === sorting?.key)?.value;
  if (!value || !sorting) return rows;
  const sign = sorting.down ? -1 : 1;
  return rows
    .map((row) => ({ row, by: value(row) ?? null }))
    .sort((a, b) => {
      if (a.by === null || b.by === null) return a.by === b.by ? 0 : a.by === null ? 1 : -1;
      if (typeof a.by === "string" || typeof b.by === "string") return sign * String(a.by).localeCompare(String(b.by));
      return sign * (a.by - b.by);
    })
    .map(({ row }) => row);
}
