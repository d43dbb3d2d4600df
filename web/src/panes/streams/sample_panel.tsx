import { useMemo } from "preact/hooks";
import { pathOf } from "../../api/client";
import type { Column, SampleRow } from "../../api/types";
import { clock, count } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { choose, place } from "../../lib/router";
import { isTime } from "../../lib/schema";
import { may } from "../../live/me";
import { DataTable, type Column as TableColumn } from "../../ui/data_table";
import { Empty, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { localTime, valueText } from "./values";

const EACH = 2000; // milliseconds
const SIZES = ["20", "50", "200"];

/** The newest tuples; live on demand. */
export function SamplePanel({ name, columns, kept }: { name: string; columns: readonly Column[]; kept: number }) {
  const live = place.value.query.get("live") === "on";
  const asked = place.value.query.get("rows") ?? "";
  const size = SIZES.includes(asked) ? asked : "20";
  const sample = useAnswer<{ rows: SampleRow[] }>(
    `${pathOf("streams", name, "sample")}?limit=${size}`,
    live ? EACH : 0,
  );
  const shape = columns.map((column) => `${column.name} ${column.type}`).join();
  const table = useMemo(() => tableColumns(columns), [shape]);
  const rows = useMemo(() => [...(sample.data?.rows ?? [])].reverse(), [sample.data]);
  return (
    <Panel
      title="Recent tuples"
      note={`the newest first, of ${count(kept)} that are kept`}
      actions={
        <>
          <label class="check">
            Show
            <select
              class="short"
              value={size}
              onChange={(event) =>
                choose({ rows: event.currentTarget.value === "20" ? null : event.currentTarget.value })
              }
            >
              {SIZES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={live}
              onChange={(event) => choose({ live: event.currentTarget.checked ? "on" : null })}
            />
            Live
          </label>
          {!live && (
            <button type="button" class="button" onClick={sample.reload}>
              Look again
            </button>
          )}
        </>
      }
    >
      <ProblemBox problem={sample.error} retry={sample.reload} />
      {sample.loading && <Loading />}
      {sample.data && !rows.length && (
        <Empty title="No tuple is kept now">
          {may("submit") ? (
            <button type="button" class="button" onClick={() => choose({ tab: "push" })}>
              Push some rows
            </button>
          ) : (
            "They appear here when they come."
          )}
        </Empty>
      )}
      {rows.length > 0 && (
        <DataTable label={`Recent tuples of ${name}`} columns={table} rows={rows} id={(row) => String(row.offset)} />
      )}
    </Panel>
  );
}

function tableColumns(columns: readonly Column[]): TableColumn<SampleRow>[] {
  return [
    { key: "offset", title: "Offset", value: (row) => row.offset, show: (row) => row.offset, right: true },
    {
      key: "arrival",
      title: "Arrived",
      value: (row) => row.arrival,
      show: (row) => (
        <span class="number">
          {clock(row.arrival)}
          {row.late && " "}
          {row.late && (
            <span class="badge warn" title="Its event time was behind the watermark: windows ignore it">
              late
            </span>
          )}
        </span>
      ),
    },
    ...columns.map(
      (column): TableColumn<SampleRow> => ({
        key: `column ${column.name}`,
        title: column.name,
        help: column.type,
        value: (row) => sortable(row.row[column.name]),
        show: (row) => <Value value={row.row[column.name]} type={column.type} />,
        right: typeof column.type === "string" && /^(\w*int|double|float|decimal)/.test(column.type),
      }),
    ),
  ];
}

const sortable = (value: unknown): string | number | null =>
  typeof value === "number" ? value : value === null || value === undefined ? null : valueText(value);

function Value({ value, type }: { value: unknown; type: string }) {
  const text = isTime(type) ? localTime(valueText(value)) : valueText(value);
  if (value === null || value === undefined) return <span class="quiet-text">null</span>;
  return (
    <span class="cell" title={text.length > 60 ? text.slice(0, 2000) : undefined}>
      {text.length > 200 ? `${text.slice(0, 200)}…` : text}
    </span>
  );
}
