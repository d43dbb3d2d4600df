/** Rows by hand: a table with a field for each column. */

import { useState } from "preact/hooks";
import type { Column } from "../../api/types";
import { isNumeric, isText, isTime } from "../../lib/schema";
import { localNow, readValue } from "./values";

interface FormProps {
  columns: readonly Column[];
  push: (jsonLines: string) => Promise<boolean>;
}

type Typed = Readonly<Record<string, string>>;

export function RowsForm({ columns, push }: FormProps) {
  const fresh = (): Typed =>
    Object.fromEntries(columns.filter(({ type }) => isTime(type)).map(({ name }) => [name, localNow()]));
  const [rows, setRows] = useState<readonly Typed[]>([fresh()]);
  const [checked, setChecked] = useState(false); // errors are shown from the first push on
  const [busy, setBusy] = useState(false);
  const set = (at: number, name: string, value: string) =>
    setRows(rows.map((row, place) => (place === at ? { ...row, [name]: value } : row)));
  const send = async () => {
    setChecked(true);
    const lines = rows.map((row) => lineOf(row, columns));
    if (lines.includes(null)) return;
    setBusy(true);
    if (await push(lines.map((line) => `${line}\n`).join(""))) {
      setRows([fresh()]);
      setChecked(false);
    }
    setBusy(false);
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <section class="table-box" aria-label="Rows to push">
        <table class="rows-form">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.name} scope="col">
                  {column.name} <span class="quiet-text">{column.type}</span>
                </th>
              ))}
              <th scope="col">
                <span class="hidden-text">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {columns.map((column) => (
                  <td key={column.name}>
                    <Cell
                      column={column}
                      label={`${column.name}, row ${at + 1}`}
                      value={row[column.name] ?? ""}
                      check={checked}
                      onSet={(value) => set(at, column.name, value)}
                    />
                  </td>
                ))}
                <td>
                  <button
                    type="button"
                    class="button quiet"
                    aria-label={`Remove row ${at + 1}`}
                    disabled={rows.length < 2}
                    onClick={() => setRows(rows.filter((_, place) => place !== at))}
                  >
                    ✕
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="quiet-text">An empty field is null. Times are in your zone.</p>
      <div class="row">
        <button type="submit" class="button primary" disabled={busy}>
          {rows.length === 1 ? "Push the row" : `Push ${rows.length} rows`}
        </button>
        <button type="button" class="button" onClick={() => setRows([...rows, { ...rows.at(-1), ...fresh() }])}>
          Add a row
        </button>
      </div>
    </form>
  );
}

/** A row as a line of JSON; null if a field is wrong. */
function lineOf(row: Typed, columns: readonly Column[]): string | null {
  const fields: string[] = [];
  for (const { name, type } of columns) {
    const read = readValue(row[name] ?? "", type);
    if ("error" in read) return null;
    fields.push(`${JSON.stringify(name)}: ${read.json}`);
  }
  return `{${fields.join(", ")}}`;
}

interface CellProps {
  column: Column;
  label: string;
  value: string;
  check: boolean;
  onSet: (value: string) => void;
}

function Cell({ column: { type }, label, value, check, onSet }: CellProps) {
  const read = check ? readValue(value, type) : null;
  const error = read && "error" in read ? read.error : "";
  const shared = { "aria-label": label, value, ...(error && { "aria-invalid": "true" as const }) };
  if (/^bool/i.test(type)) {
    return (
      <select {...shared} onChange={(event) => onSet(event.currentTarget.value)}>
        <option value="">null</option>
        <option>true</option>
        <option>false</option>
      </select>
    );
  }
  const typed = {
    ...shared,
    onInput: (event: { currentTarget: HTMLInputElement }) => onSet(event.currentTarget.value),
  };
  return (
    <>
      {isTime(type) ? (
        <input {...typed} type="datetime-local" step="1" />
      ) : /^date$/i.test(type) ? (
        <input {...typed} type="date" />
      ) : (
        <input {...typed} type="text" inputMode={isNumeric(type) ? "decimal" : "text"} placeholder={hintFor(type)} />
      )}
      {error && <span class="bad-text small">{error}</span>}
    </>
  );
}

const HINTS: readonly [RegExp, string][] = [
  [/^array/i, "[…]"],
  [/^(map|struct)/i, "{…}"],
];

function hintFor(type: string): string {
  if (isText(type)) return "text";
  if (isNumeric(type)) return "number";
  return HINTS.find(([words]) => words.test(type))?.[1] ?? "";
}
