/** The top of a query's page: what it is, what is wrong with it, and what can be done with it. */

import { useState } from "preact/hooks";
import type { QueryDetails } from "../../../api/types";
import { count, duration, plural } from "../../../lib/format";
import { may } from "../../../live/me";
import { Action } from "../../../ui/action";
import { ClassMark, StateBadge } from "../../../ui/marks";
import { PageHead } from "../../../ui/panel";
import { ClassSelect } from "../class_select";
import { canPause, canResume, move, pause, resume, stop } from "../commands";
import { TargetMark } from "../target_mark";

interface HeadProps {
  query: QueryDetails;
  gone: boolean;
  changed: () => void;
}

const ENDED = new Set(["done", "ended", "stopped"]);

export function QueryHead({ query, gone, changed }: HeadProps) {
  return (
    <>
      <PageHead
        title={
          <>
            <a class="way-back" href="/queries">
              Queries
            </a>
            <span aria-hidden="true"> / </span>
            <span class="query-name">{query.name}</span>
          </>
        }
        lead={
          <span class="row query-facts">
            <ClassMark name={query.class} />
            <StateBadge state={gone ? "stopped" : query.state} />
            <span>
              Target: <TargetMark target={query.target_status} />
            </span>
            <span>
              Sink: <code>{query.sink || "parquet"}</code>
            </span>
          </span>
        }
        actions={!gone && may("submit") && <Actions query={query} changed={changed} />}
      />
      <div aria-live="polite" class="stack notices">
        <Notices query={query} gone={gone} />
      </div>
    </>
  );
}

function Notices({ query, gone }: { query: QueryDetails; gone: boolean }) {
  if (gone) {
    return (
      <p class="notice">
        <strong>This query has been stopped and removed</strong> since the page was opened. What you see is from then;
        its results stay. <a href="/queries">Go to all queries</a>
      </p>
    );
  }
  return (
    <>
      {ENDED.has(query.state) && (
        <p class="notice">
          <strong>This query has ended:</strong> it has read everything, and no more results come.
        </p>
      )}
      {query.error && (
        <p class="problem">
          <strong>{query.state}:</strong> {query.error}
          {canResume(query.state) && " When that is mended, resume it."}
        </p>
      )}
      {query.stalled !== undefined && (
        <p class="problem">
          <strong>Stalled:</strong> nothing was committed for {duration(query.stalled)}, and{" "}
          {plural(query.waiting, "tuple")} wait.
        </p>
      )}
      {query.backfill && (
        <p class="notice">
          It reads what its streams have kept: {count(query.backfill.read)} of {count(query.backfill.of)} tuples.{" "}
          <progress value={query.backfill.read} max={query.backfill.of} aria-label="Tuples that it has read" />
        </p>
      )}
    </>
  );
}

function Actions({ query, changed }: { query: QueryDetails; changed: () => void }) {
  const { name, state } = query;
  const then = (work: Promise<unknown>) => work.then(changed);
  return (
    <>
      {canResume(state) ? (
        <Action run={() => then(resume(name))} done={`${name} resumed`} kind="primary">
          Resume
        </Action>
      ) : (
        <Action run={() => then(pause(name))} done={`${name} paused`} disabled={!canPause(state)}>
          Pause
        </Action>
      )}
      <MoveAction query={query} changed={changed} />
      <Action
        kind="danger"
        run={() => then(stop(name))}
        done={`${name} stopped`}
        ask={{ title: `Stop ${name}?`, text: "It is removed for good; its results stay.", yes: "Stop" }}
      >
        Stop
      </Action>
    </>
  );
}

function MoveAction({ query, changed }: { query: QueryDetails; changed: () => void }) {
  const [chosen, setChosen] = useState("");
  const target = chosen === query.class ? "" : chosen;
  return (
    <span class="row move-to">
      <ClassSelect
        label="Class to move it to"
        value={target}
        onChange={setChosen}
        none="move to …"
        without={query.class}
      />
      <Action
        run={() => move(query.name, target).then(changed)}
        done={`${query.name} moved to ${target}`}
        disabled={!target}
      >
        Move
      </Action>
    </span>
  );
}
