import { useMemo, useState } from "preact/hooks";
import { Problem, withQuery } from "../../../api/client";
import type { QueryDetails } from "../../../api/types";
import { choose } from "../../../lib/router";
import { Panel } from "../../../ui/panel";
import { ProblemBox } from "../../../ui/problem_box";
import { SqlEditor, toDiagnostic } from "../../../ui/sql_editor";
import { tell } from "../../../ui/toasts";
import { replace } from "../commands";
import { keepReplaceDraft, replaceDraft } from "./replace_draft";

interface ReplaceProps {
  query: QueryDetails;
  gone: boolean; // it was stopped since: what was typed can be started as another query
  changed: () => void;
}

/** Other SQL for a query, with the same columns. */
export function ReplaceTab({ query, gone, changed }: ReplaceProps) {
  const [sql, setSql] = useState(replaceDraft(query.name) ?? query.sql);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const diagnostics = useMemo(() => {
    const mark = toDiagnostic(problem);
    return mark ? [mark] : [];
  }, [problem]);
  const write = (text: string) => {
    setSql(text);
    keepReplaceDraft(query.name, sameText(text, query.sql) ? null : text);
    setProblem(null);
  };
  const send = async () => {
    setBusy(true);
    try {
      await replace(query.name, sql);
      keepReplaceDraft(query.name, null);
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
          {gone ? (
            <a class="button" href={withQuery("/new", { name: query.name, class: query.class, sql })}>
              Write a new query with it
            </a>
          ) : (
            <button type="button" class="button primary" disabled={busy || sameText(sql, query.sql)} onClick={send}>
              {busy ? "Replacing …" : "Replace"}
            </button>
          )}
          <button type="button" class="button" disabled={sql === query.sql} onClick={() => write(query.sql)}>
            Back to the present SQL
          </button>
        </div>
      </div>
    </Panel>
  );
}

const sameText = (one: string, other: string): boolean => one.trim() === other.trim();
