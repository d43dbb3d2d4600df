import { useState } from "preact/hooks";
import { Problem } from "../../../api/client";
import type { QueryDetails } from "../../../api/types";
import { choose } from "../../../lib/router";
import { Field } from "../../../ui/field";
import { Panel } from "../../../ui/panel";
import { tell } from "../../../ui/toasts";
import { replace } from "../commands";

/** Other SQL for a query, with the same columns. */
export function ReplaceTab({ query, changed }: { query: QueryDetails; changed: () => void }) {
  const [sql, setSql] = useState(query.sql);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await replace(query.name, sql);
      tell(`${query.name} has other SQL from now on`);
      changed();
      choose({ tab: null });
    } catch (problem) {
      setError(problem instanceof Problem ? problem.detail : String(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel title="Replace its SQL" note="its columns must stay the same">
      <form class="stack" onSubmit={send}>
        <Field
          label="SQL"
          hint={`Columns: ${query.columns.map(({ name, type }) => `${name} ${type}`).join(", ")}`}
          error={error}
        >
          <textarea
            rows={Math.min(20, Math.max(6, sql.split("\n").length + 2))}
            spellcheck={false}
            value={sql}
            onInput={(event: { currentTarget: HTMLTextAreaElement }) => {
              setSql(event.currentTarget.value);
              setError("");
            }}
          />
        </Field>
        <div class="row">
          <button type="submit" class="button primary" disabled={busy || sql.trim() === query.sql.trim()}>
            {busy ? "Replacing …" : "Replace"}
          </button>
          <button type="button" class="button" disabled={sql === query.sql} onClick={() => setSql(query.sql)}>
            Back to the present SQL
          </button>
        </div>
      </form>
    </Panel>
  );
}
