/** A table that sorts by a click on a heading, and draws only the rows that are seen if there are many. */

import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export interface Column<Row> {
  key: string;
  title: ComponentChildren;
  help?: string; // shown when the pointer rests on the heading
  value?: (row: Row) => number | string | null | undefined; // sorted by; without it the column cannot be sorted
  show: (row: Row) => ComponentChildren;
  right?: boolean; // numbers
  width?: number; // pixels: if all columns have one, none of them moves when its contents change
  downFirst?: boolean; // the first click puts the largest first
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
  sorting?: Sorting | null;
  onSort?: (sorting: Sorting) => void; // to keep it elsewhere, as in the address
  steady?: boolean; // rows keep their places while the pointer or the focus is on them
  keepPlace?: string; // where it was scrolled to is kept by this name until the page is loaded anew
}

const ROW = 38; // pixels
const MANY = 60;
const SPARE = 8; // rows beyond both ends of what is seen
const places = new Map<string, number>();

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, id, sorting, onSort, steady = false, keepPlace } = props;
  const [own, setOwn] = useState<Sorting | null>(null);
  const now = sorting ?? own;
  const inside = useRef(false);
  const sorted = useSorted(rows, columns, now, id, steady ? inside : null);
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const kept = keepPlace && places.get(keepPlace);
    if (kept && box.current) box.current.scrollTop = kept;
  }, []);

  const many = sorted.length > MANY;
  const height = box.current?.clientHeight || 800;
  const first = many ? Math.min(Math.max(0, Math.floor(top / ROW) - SPARE), sorted.length) : 0;
  const last = many ? Math.min(sorted.length, Math.ceil((top + height) / ROW) + SPARE) : sorted.length;
  const sort = (column: Column<Row>) =>
    (onSort ?? setOwn)({
      key: column.key,
      down: now?.key === column.key ? !now.down : (column.downFirst ?? false),
    });
  const scrolled = (place: number) => {
    if (keepPlace) places.set(keepPlace, place);
    // Drawn again only when other rows come into sight, not for every pixel.
    setTop(Math.floor(place / ROW / 4) * ROW * 4);
  };
  const hold = (held: boolean) => () => {
    inside.current = held;
  };

  return (
    <section
      class={`table-box ${many ? "tall" : ""}`}
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={many || keepPlace ? (event) => scrolled(event.currentTarget.scrollTop) : undefined}
      onPointerEnter={hold(true)}
      onPointerLeave={hold(false)}
    >
      <table aria-rowcount={sorted.length + 1} style={fixedLayout(columns)}>
        {isFixed(columns) && (
          <colgroup>
            {columns.map((column) => (
              <col key={column.key} style={{ width: `${column.width}px` }} />
            ))}
          </colgroup>
        )}
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
                  <button type="button" onClick={() => sort(column)}>
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
        <tbody onFocusIn={hold(true)} onFocusOut={hold(false)}>
          <Spacer rows={first} columns={columns.length} />
          {sorted.slice(first, last).map((row, at) => (
            <TableRow key={id(row)} row={row} columns={columns} place={first + at + 2} />
          ))}
          <Spacer rows={sorted.length - last} columns={columns.length} />
        </tbody>
      </table>
    </section>
  );
}

interface RowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  place: number;
}

/** A row; it is drawn again only if it is another object than before. */
class TableRow<Row> extends Component<RowProps<Row>> {
  override shouldComponentUpdate(next: RowProps<Row>): boolean {
    const { row, columns, place } = this.props;
    return next.row !== row || next.columns !== columns || next.place !== place;
  }

  override render() {
    const { row, columns, place } = this.props;
    return (
      <tr aria-rowindex={place}>
        {columns.map((column) => (
          <td key={column.key} class={column.right ? "right" : ""}>
            {column.show(row)}
          </td>
        ))}
      </tr>
    );
  }
}

const isFixed = <Row,>(columns: readonly Column<Row>[]): boolean =>
  columns.every((column) => column.width !== undefined);

function fixedLayout<Row>(columns: readonly Column<Row>[]) {
  if (!isFixed(columns)) return undefined;
  const sum = columns.reduce((wide, column) => wide + column.width!, 0);
  return { tableLayout: "fixed" as const, minWidth: `${sum}px` };
}

/** Takes the place of rows that are not drawn. */
function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="spacer">
      <td colSpan={columns} style={{ height: `${rows * ROW}px`, padding: 0 }} />
    </tr>
  );
}

/** The rows in order; in the order of before while they are held, so that none runs away from the pointer. */
function useSorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | null,
  id: (row: Row) => string,
  held: { current: boolean } | null,
): readonly Row[] {
  const before = useRef<{ by: string; order: Map<string, number> } | null>(null);
  const by = sorting ? `${sorting.key} ${sorting.down}` : "";
  return useMemo(() => {
    const keep = held?.current && before.current?.by === by ? before.current.order : null;
    const sorted = keep ? inOrder(rows, keep, id) : sortRows(rows, columns, sorting);
    if (held) before.current = { by, order: new Map(sorted.map((row, place) => [id(row), place])) };
    return sorted;
  }, [rows, columns, by]);
}

/** Rows in an order of their ids; those that it does not have come last. */
export function inOrder<Row>(rows: readonly Row[], order: ReadonlyMap<string, number>, id: (row: Row) => string) {
  const place = (row: Row) => order.get(id(row)) ?? order.size;
  return [...rows].sort((a, b) => place(a) - place(b));
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
