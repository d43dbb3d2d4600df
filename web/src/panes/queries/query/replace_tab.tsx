import { useMemo, useState } from "preact/hooks";
import { Problem } from "../../../api/client";
import type { QueryDetails } from "../../../api/types";
import { choose } from "../../../lib/router";
import { Panel } from "../../../ui/panel";
import { ProblemBox } from "../../../ui/problem_box";
import { SqlEditor, toDiagnostic } from "../../../ui/sql_editor";
import { tell } from "../../../ui/toasts";
import { replace } from "../commands";

/** Other SQL for a query, with the same columns. */
export function ReplaceTab({ query, changed }: { query: QueryDetails; changed: () => void }) {
  const [sql, setSql] = useState(query.sql);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const diagnostics = useMemo(() => {
    const mark = toDiagnostic(problem);
    return mark ? [mark] : [];
  }, [problem]);
  const write = (text: string) => {
    setSql(text);
    setProblem(null);
  };
  const send = async () => {
    setBusy(true);
    try {
      await replace(query.name, sql);
      tell(`${query.name} has other SQL from now on`);
      changed();
      choose({ tab: null });
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel title="Replace its SQL" note="its columns must stay the same">
      <div class="stack">
        <SqlEditor
          label={`SQL of ${query.name}`}
          value={sql}
          onChange={write}
          diagnostics={diagnostics}
          lines={Math.min(20, Math.max(6, sql.split("\n").length + 2))}
        />
        <p class="quiet-text">Columns: {query.columns.map(({ name, type }) => `${name} ${type}`).join(", ")}</p>
        <ProblemBox problem={problem} />
        <div class="row">
          <button type="button" class="button primary" disabled={busy || sameText(sql, query.sql)} onClick={send}>
            {busy ? "Replacing …" : "Replace"}
          </button>
          <button type="button" class="button" disabled={sql === query.sql} onClick={() => write(query.sql)}>
            Back to the present SQL
          </button>
        </div>
      </div>
    </Panel>
  );
}

const sameText = (one: string, other: string): boolean => one.trim() === other.trim();
