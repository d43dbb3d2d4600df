/** The columns of a new stream: as rows, or as text. */

import { useId } from "preact/hooks";
import type { Column } from "../../api/types";
import { schemaText } from "../../lib/schema";
import { Field } from "../../ui/field";

interface SchemaProps {
  columns: Column[];
  text: string | null;
  error: string | undefined;
  onColumns: (columns: Column[]) => void;
  onText: (text: string | null) => void;
}

const TYPES = [
  "bigint",
  "int",
  "double",
  "float",
  "decimal(10, 2)",
  "string",
  "boolean",
  "timestamp",
  "date",
  "binary",
  "array<double>",
  "array<string>",
  "map<string, double>",
  "struct<a: int, b: string>",
];

export function SchemaRows({ columns, text, error, onColumns, onText }: SchemaProps) {
  return (
    <fieldset class="plain stack">
      <legend class="label">Columns</legend>
      {text === null ? (
        <Rows columns={columns} onColumns={onColumns} />
      ) : (
        <Field label="Columns and types, as in SQL" hint="id bigint, machine string, temp double, ts timestamp">
          <textarea rows={3} value={text} onInput={(event) => onText(event.currentTarget.value)} />
        </Field>
      )}
      {error && <span class="bad-text">{error}</span>}
      <div class="row">
        {text === null && (
          <button type="button" class="button" onClick={() => onColumns([...columns, { name: "", type: "double" }])}>
            Add a column
          </button>
        )}
        <button type="button" class="button" onClick={() => onText(text === null ? schemaText(columns) : null)}>
          {text === null ? "Write them as text" : "Show them as rows"}
        </button>
      </div>
    </fieldset>
  );
}

function Rows({ columns, onColumns }: Pick<SchemaProps, "columns" | "onColumns">) {
  const id = useId();
  const set = (at: number, part: Partial<Column>) =>
    onColumns(columns.map((column, place) => (place === at ? { ...column, ...part } : column)));
  return (
    <div class="schema-rows">
      <datalist id={id}>
        {TYPES.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      {columns.map((column, at) => (
        <div key={at} class="schema-row">
          <input
            aria-label={`Name of column ${at + 1}`}
            placeholder="name"
            value={column.name}
            onInput={(event) => set(at, { name: event.currentTarget.value })}
          />
          <input
            aria-label={`Type of column ${at + 1}`}
            placeholder="type"
            list={id}
            value={column.type}
            onInput={(event) => set(at, { type: event.currentTarget.value })}
          />
          <button
            type="button"
            class="button quiet"
            aria-label={`Remove column ${column.name || at + 1}`}
            disabled={columns.length < 2}
            onClick={() => onColumns(columns.filter((_, place) => place !== at))}
          >
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
