/** Write a query, see what would become of it, and start it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Problem, post } from "../../api/client";
import type { QueryDetails } from "../../api/types";
import { editorSchema, useCatalog } from "../../lib/catalog";
import { newKey } from "../../lib/keys";
import { choose, go, place, queryPath } from "../../lib/router";
import { may } from "../../live/me";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { ProblemBox } from "../../ui/problem_box";
import { type EditorControl, SqlEditor, toDiagnostic } from "../../ui/sql_editor";
import { tell } from "../../ui/toasts";
import { bringBack, change, draft, EMPTY, earlier, isEmpty, replaceDraft, toBody } from "./draft";
import { type DryRun, useDryRun } from "./dry_run";
import { examplesFor } from "./examples";
import { OutcomePanel } from "./outcome_panel";
import { type Errors, NameAndClass, SettingsPanel } from "./settings_panel";
import { SourcesPanel } from "./sources_panel";
import { fieldOf } from "./words";
import "../../ui/forms.css";
import "./new_query.css";

export default function NewQuery() {
  if (!may("submit")) {
    return (
      <>
        <PageHead title="New query" />
        <Empty title="Your role may not start queries">Somebody with the role submit can.</Empty>
      </>
    );
  }
  return <Form />;
}

function Form() {
  usePrefill();
  const now = draft.value;
  const catalog = useCatalog();
  const schema = useMemo(() => editorSchema(catalog.readable), [catalog.readable.map((one) => one.name).join("\n")]);
  const run = useDryRun(toBody(now));
  const editor = useRef<EditorControl | null>(null);
  const mark = toDiagnostic(run.refused);
  const diagnostics = useMemo(() => (mark ? [mark] : []), [mark?.message, mark?.line, mark?.column]);
  const errors: Errors = run.refused && !mark ? { [fieldOf(run.refused)]: run.refused.detail } : {};
  return (
    <>
      <PageHead
        title="New query"
        lead="Write SQL over streams and tables. It runs continuously from the moment you start it."
        actions={<DraftActions />}
      />
      <div class="new-query">
        <div class="stack">
          <Panel title="SQL">
            <div class="stack">
              <NameAndClass draft={now} errors={errors} />
              <SqlEditor
                value={now.sql}
                onChange={(sql) => change({ sql })}
                label="SQL of the query"
                schema={schema}
                diagnostics={diagnostics}
                hint="SELECT … FROM a stream"
                lines={7}
                control={editor}
              />
              {mark && (
                <p class="bad-text at-place">
                  Line {mark.line}, column {mark.column}: {mark.message}
                </p>
              )}
              {errors.sql && <p class="bad-text">{errors.sql}</p>}
              {now.sql.trim() === "" && <Examples examples={examplesFor(catalog.readable)} />}
            </div>
          </Panel>
          <SettingsPanel draft={now} errors={errors} />
          <Submit run={run} />
        </div>
        <div class="stack">
          <SourcesPanel catalog={catalog} insert={(text) => editor.current?.insert(text)} />
          <OutcomePanel run={run} />
        </div>
      </div>
    </>
  );
}

/** What an address says (`/new?sql=…`) is taken over once, so that a reload keeps what is typed then. */
function usePrefill(): void {
  const { query } = place.value;
  const given = ["sql", "name", "class"].filter((part) => query.has(part));
  useEffect(() => {
    if (!given.length) return;
    replaceDraft(Object.fromEntries(given.map((part) => [part, query.get(part) ?? ""])));
    choose({ sql: null, name: null, class: null });
  }, [given.join()]);
}

function DraftActions() {
  return (
    <>
      {earlier.value && (
        <button type="button" class="button" onClick={bringBack}>
          Bring back what was here
        </button>
      )}
      {!isEmpty(draft.value) && (
        <button type="button" class="button" onClick={() => replaceDraft({})}>
          Clear
        </button>
      )}
    </>
  );
}

function Examples({ examples }: { examples: ReturnType<typeof examplesFor> }) {
  if (!examples.length) return null;
  return (
    <div>
      <h3>Begin with an example</h3>
      <ul class="chips">
        {examples.map((one) => (
          <li key={one.title}>
            <button
              type="button"
              class="button"
              title={one.sql}
              onClick={() => change({ sql: one.sql, name: draft.value.name || one.name })}
            >
              {one.title}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Submit({ run }: { run: DryRun }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  // The same query is sent again with the same key, so that it starts once. A key stands for one body: a start at a
  // moment of the clock is told in seconds from now, which would be others then.
  const sent = useRef({ text: "", key: "", body: toBody(EMPTY) });
  // Whether the server has got it is not known after a lost answer: it may refuse the name only because it has.
  const again = problem?.passing === true && sent.current.text === JSON.stringify(draft.value);
  const missing = again ? "" : whatIsMissing(run);
  const submit = async () => {
    const text = JSON.stringify(draft.value);
    if (sent.current.text !== text) sent.current = { text, key: newKey(), body: toBody(draft.value) };
    const { body, key } = sent.current;
    setBusy(true);
    setProblem(null);
    try {
      await post<QueryDetails>("/v1/queries", body, { headers: { "Idempotency-Key": key } });
      draft.value = EMPTY;
      earlier.value = null;
      tell(`${body.name} has started.`);
      go(queryPath(body.name));
    } catch (error) {
      const told = error instanceof Problem ? error : new Problem(0, String(error));
      if (!told.passing) sent.current.text = ""; // it was refused: the next one is another request
      setProblem(told);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="submit">
      <button type="button" class="button primary" disabled={busy || missing !== ""} onClick={submit}>
        {busy ? "Starting…" : again ? "Send it again" : "Start the query"}
      </button>
      <span class="quiet-text" aria-live="polite">
        {missing}
      </span>
      {problem && <ProblemBox problem={problem} />}
      {again && (
        <p class="quiet-text">What you typed is kept. It can be sent again safely: the server starts it once.</p>
      )}
    </div>
  );
}

function whatIsMissing(run: DryRun): string {
  if (!draft.value.sql.trim()) return "It needs SQL.";
  if (!draft.value.name.trim()) return "It needs a name.";
  if (run.refused && !run.refused.passing && !run.asking) return "The server would refuse it as it is.";
  return "";
}
