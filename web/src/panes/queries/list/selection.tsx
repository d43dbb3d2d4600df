/** Which queries are selected, and what can be done with all of them at once. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { QueryStatus } from "../../../api/types";
import { plural } from "../../../lib/format";
import { Action, confirmed } from "../../../ui/action";
import { tell } from "../../../ui/toasts";
import { ClassSelect } from "../class_select";
import { canPause, canResume, doToAll, move, outcomeText, pause, resume, stop } from "../commands";

/** The names of those selected. */
export const selected = signal<ReadonlySet<string>>(new Set());

/** The names of those that the filters leave. */
export const shown = signal<readonly string[]>([]);

export function select(names: Iterable<string>, on: boolean): void {
  const now = new Set(selected.value);
  for (const name of names) {
    if (on) now.add(name);
    else now.delete(name);
  }
  selected.value = now;
}

/** The box before a row. */
export function SelectBox({ name }: { name: string }) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${name}`}
      checked={selected.value.has(name)}
      onChange={(event) => select([name], event.currentTarget.checked)}
    />
  );
}

/** The box above all rows: selects those that the filters leave. */
export function SelectAll() {
  const names = shown.value;
  const chosen = names.filter((name) => selected.value.has(name)).length;
  return (
    <input
      type="checkbox"
      aria-label="Select all queries that are shown"
      checked={names.length > 0 && chosen === names.length}
      ref={(box) => {
        if (box) box.indeterminate = chosen > 0 && chosen < names.length;
      }}
      onChange={(event) => select(names, event.currentTarget.checked)}
    />
  );
}

/** Buttons for all that are selected. They are always there, so that nothing moves when one is selected. */
export function SelectionBar({ queries }: { queries: Readonly<Record<string, QueryStatus>> }) {
  const [target, setTarget] = useState("");
  const names = [...selected.value].filter((name) => name in queries).sort();
  const inState = (able: (state: string) => boolean) => names.filter((name) => able(queries[name]!.state));
  const act = async (these: readonly string[], what: (name: string) => Promise<unknown>, word: string) => {
    const outcome = await doToAll(these, what);
    tell(outcomeText(outcome, word), { bad: outcome.refused.length > 0 });
  };
  const pausable = inState(canPause);
  const resumable = inState(canResume);
  const movable = names.filter((name) => queries[name]!.class !== target);
  const stopAll = async () => {
    if (!(await confirmed(`Stop ${plural(names.length, "query", "queries")}?`, <Stopping names={names} />, "Stop")))
      return;
    await act(names, stop, "stopped");
    select(names, false);
  };
  return (
    <fieldset class="selection-bar">
      <legend class="hidden-text">What to do with the selected queries</legend>
      <span class="number" role="status">
        {names.length ? `${names.length} selected` : "none selected"}
      </span>
      <Action run={() => act(pausable, pause, "paused")} disabled={!pausable.length}>
        Pause
      </Action>
      <Action run={() => act(resumable, resume, "resumed")} disabled={!resumable.length}>
        Resume
      </Action>
      <span class="row move-to">
        <ClassSelect label="Class to move the selected queries to" value={target} onChange={setTarget} none="class …" />
        <Action
          run={() => act(movable, (name) => move(name, target), `moved to ${target}`)}
          disabled={!target || !movable.length}
        >
          Move
        </Action>
      </span>
      <Action kind="danger" run={stopAll} disabled={!names.length}>
        Stop
      </Action>
    </fieldset>
  );
}

const NAMED = 10;

function Stopping({ names }: { names: readonly string[] }) {
  const more = names.length - NAMED;
  return (
    <>
      <p>
        {names.slice(0, NAMED).join(", ")}
        {more > 0 && ` and ${more} more`}
      </p>
      <p>They are removed for good; their results stay.</p>
    </>
  );
}
