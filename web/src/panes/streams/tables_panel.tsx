/** Stored tables that queries join with. */

import { useState } from "preact/hooks";
import { Problem, pathOf, post, remove } from "../../api/client";
import type { Page, TableDetails } from "../../api/types";
import { newKey } from "../../lib/keys";
import { type Answer, useAnswer } from "../../lib/polling";
import { choose, place } from "../../lib/router";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { Field } from "../../ui/field";
import { QueryLink } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { tell } from "../../ui/toasts";

export function TablesPanel() {
  const tables = useAnswer<Page<TableDetails>>("/v1/tables?limit=1000");
  const rights = may("operate", { shared: true });
  const adding = rights && place.value.query.get("new") === "table";
  return (
    <Panel
      title="Tables"
      note="What changes rarely, for joins: names, limits, prices"
      actions={
        rights &&
        !adding && (
          <button type="button" class="button" onClick={() => choose({ new: "table" })}>
            Register a table
          </button>
        )
      }
    >
      <div class="stack">
        {adding && <Register reload={tables.reload} />}
        <ProblemBox problem={tables.error} retry={tables.reload} />
        {tables.loading && <Loading />}
        {tables.data?.items.length === 0 && <p class="quiet-text">There is no table.</p>}
        {tables.data && tables.data.items.length > 0 && <List tables={tables} rights={rights} />}
      </div>
    </Panel>
  );
}

function List({ tables, rights }: { tables: Answer<Page<TableDetails>>; rights: boolean }) {
  return (
    <section class="table-box" aria-label="Tables">
      <table>
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Columns</th>
            <th scope="col">Read by</th>
            {rights && (
              <th scope="col">
                <span class="hidden-text">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {tables.data!.items.map((table) => (
            <tr key={table.name}>
              <td>
                {table.name}
                {table.path && <div class="quiet-text small">{table.path}</div>}
              </td>
              <td class="wrap">
                <code>{table.schema}</code>
                {table.error && <div class="bad-text">{table.error}</div>}
              </td>
              <td>
                {table.queries.length === 0 && "–"}
                {table.queries.slice(0, 5).map((name, at) => (
                  <span key={name}>
                    {at > 0 && ", "}
                    <QueryLink name={name} />
                  </span>
                ))}
                {table.queries.length > 5 && ` and ${table.queries.length - 5} more`}
              </td>
              {rights && (
                <td class="right">
                  <TableActions table={table} reload={tables.reload} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function TableActions({ table, reload }: { table: TableDetails; reload: () => void }) {
  return (
    <div class="row end">
      <Action
        run={() => post(pathOf("tables", table.name, "refresh")).then(reload)}
        done={`${table.name} was read anew.`}
        title="Read its rows anew; queries use them from their next run on"
      >
        Refresh
      </Action>
      <Action
        run={() => remove(pathOf("tables", table.name)).then(reload)}
        done={`${table.name} is gone.`}
        kind="danger"
        disabled={table.queries.length > 0}
        title={table.queries.length ? "Queries read it: remove them first" : ""}
        ask={{
          title: `Drop the table ${table.name}?`,
          text: "Queries can no longer join with it. Its files stay.",
          yes: "Drop it",
        }}
      >
        Drop
      </Action>
    </div>
  );
}

function Register({ reload }: { reload: () => void }) {
  const [name, setName] = useState("");
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const register = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const body = { name: name.trim(), path: path.trim() };
      await post("/v1/tables", body, { headers: { "Idempotency-Key": newKey() } });
      tell(`${body.name} is there.`);
      reload();
      choose({ new: null });
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="stack inner"
      onSubmit={(event) => {
        event.preventDefault();
        void register();
      }}
    >
      <div class="form-grid">
        <Field label="Name">
          <input required placeholder="machines" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <Field label="File or folder on the server" hint="Parquet, ORC, CSV with a header, or JSON lines">
          <input
            required
            placeholder="/data/machines.csv"
            value={path}
            onInput={(event) => setPath(event.currentTarget.value)}
          />
        </Field>
      </div>
      <ProblemBox problem={problem} />
      <div class="row">
        <button type="submit" class="button primary" disabled={busy || !name.trim() || !path.trim()}>
          {busy ? "Reading it…" : "Register the table"}
        </button>
        <button type="button" class="button quiet" onClick={() => choose({ new: null })}>
          Close
        </button>
      </div>
    </form>
  );
}
