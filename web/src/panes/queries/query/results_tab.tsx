import { useMemo, useState } from "preact/hooks";
import type { QueryDetails } from "../../../api/types";
import { plural } from "../../../lib/format";
import { localTime } from "../../../lib/local_time";
import { type Column, DataTable } from "../../../ui/data_table";
import { Empty, Panel } from "../../../ui/panel";
import { ProblemBox } from "../../../ui/problem_box";
import { KEPT, type ResultRow, type Tail, useTail } from "./tail";

/** The newest results, as they come. */
export function ResultsTab({ query }: { query: QueryDetails }) {
  const [held, setHeld] = useState(false);
  const tail = useTail(query.name, held);
  const names = query.columns.map((column) => column.name).join("\n");
  const columns = useMemo(() => columnsOf(query.columns), [names]);
  return (
    <Panel
      title="Results"
      note={<TailState tail={tail} held={held} />}
      actions={
        <button
          type="button"
          class={`button ${held ? "on" : ""}`}
          aria-pressed={held}
          disabled={tail.state === "failed"}
          onClick={() => setHeld(!held)}
        >
          {held ? "Go on" : "Hold"}
        </button>
      }
    >
      <ProblemBox problem={tail.problem} />
      {tail.rows.length > 0 ? (
        <DataTable
          label={`Newest results of ${query.name}`}
          columns={columns}
          rows={tail.rows}
          id={(row) => String(row.number)}
        />
      ) : (
        tail.state !== "failed" && (
          <Empty title={tail.state === "ended" ? "It gave no results" : "No results yet"}>
            {tail.state !== "ended" && "They appear here as soon as they are committed, the newest first."}
          </Empty>
        )
      )}
    </Panel>
  );
}

function TailState({ tail, held }: { tail: Tail; held: boolean }) {
  const shown = `the newest ${plural(Math.min(KEPT, tail.rows.length), "row")}, the newest first`;
  if (tail.state === "ended") return <>{shown}; the query has ended, no more come</>;
  if (tail.state === "failed") return null;
  if (held) return <>held; new results come meanwhile</>;
  if (tail.state === "connecting") return <>connecting …</>;
  return <>{shown}; live</>;
}

function columnsOf(columns: QueryDetails["columns"]): Column<ResultRow>[] {
  return columns.map(({ name, type }, place) => ({
    key: `${place} ${name}`,
    title: name,
    help: type,
    show: (row) => <Value value={row.values[name]} isTime={type.startsWith("timestamp")} />,
    right: isNumber(type),
    width: isNumber(type) ? 120 : 220, // so that columns stay where they are when other values come
  }));
}

const isNumber = (type: string): boolean => /^(u?int|double|float|decimal)/.test(type);

/** A value as text, whatever it is; a time is in the reader's zone. */
function Value({ value, isTime }: { value: unknown; isTime: boolean }) {
  if (value === null || value === undefined) return <span class="quiet-text">null</span>;
  const written = typeof value === "string" ? value : JSON.stringify(value);
  const text = isTime ? localTime(written) : written;
  return (
    <span class="value" title={text}>
      {text}
    </span>
  );
}
