/** Why a run was chosen: winner and runner-up, their numbers side by side, and who else waited. */

import { useEffect, useState } from "preact/hooks";
import type { Decision } from "../../api/types";
import { clock, count, duration, plural } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark, QueryLink } from "../../ui/marks";
import { Empty, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { type Compared, compared, figure, titleOf } from "./number_words";
import type { Bar } from "./run_store";
import { ranFor, stateText } from "./tooltip";

const SETTLED = 150; // milliseconds; who moves on from run to run asks for the last one only
const NAMES = 6;

interface DecisionPanelProps {
  id: number | null;
  bar: Bar | undefined;
  now: number;
  onClose: () => void;
}

export function DecisionPanel({ id, bar, now, onClose }: DecisionPanelProps) {
  const settled = useSettled(id);
  const { data, error, reload } = useAnswer<Decision>(settled === null ? null : `/v1/decisions/${settled}`);
  if (id === null) {
    return (
      <Panel title="Why did it run?">
        <Empty title="No run is chosen">
          Click a run, or press Enter on the timeline: here is then told why it was chosen, before whom, and who waited.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title="Why did it run?"
      note={bar && <>run {id}</>}
      actions={
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      }
      class="decision"
    >
      <div class="stack" aria-live="polite">
        {error && <ProblemBox problem={error} retry={reload} />}
        {!error && (settled !== id || !data) && <Loading what="Asking why it was chosen" />}
        {settled === id && data && <Told decision={data} bar={bar} now={now} />}
      </div>
    </Panel>
  );
}

function Told({ decision, bar, now }: { decision: Decision; bar: Bar | undefined; now: number }) {
  const waiting = decision.waiting ?? [];
  return (
    <>
      <p class="said">{decision.sentence ?? `${decision.winner} ran`}.</p>
      <p>
        <strong>{decision.winner}</strong> <ClassMark name={decision.class} /> began at {clock(decision.at)}
        {decision.worker !== undefined && bar && <> on worker {bar.run.worker}</>} with{" "}
        {plural(decision.tuples, "tuple")}, of which the oldest had waited {duration(decision.waited)}.{" "}
        {bar && bar.run.state === "running" && <>It is still running.</>}
        {bar && bar.run.state !== "running" && <>It took {duration(ranFor(bar, now))}.</>}{" "}
        {bar && stateText(bar) && bar.run.state !== "running" && <span class="bad-text">It {ended(bar)}.</span>}
      </p>
      <p>
        Queries: <Names of={decision.queries} />
      </p>
      <div class="columns">
        <Numbers decision={decision} />
        <div>
          <h3>Who waited then</h3>
          {waiting.length ? (
            <DataTable label="Who waited" columns={WAITING} rows={waiting} id={(row) => `${row.class} ${row.unit}`} />
          ) : (
            <p class="quiet-text">
              {decision.decision === undefined ? "Nothing of yours." : "Nothing else was ready."}
            </p>
          )}
        </div>
      </div>
    </>
  );
}

const ended = (bar: Bar): string => (bar.run.state === "cancelled" ? `was ${stateText(bar)}` : stateText(bar));

function Numbers({ decision }: { decision: Decision }) {
  const lines = compared(decision.numbers, decision.runner_up_numbers);
  if (!lines.length) return null;
  return (
    <div>
      <h3>What decided</h3>
      <p>{decision.runner_up ? `Next would have been ${decision.runner_up}.` : "Nothing else could have run."}</p>
      <DataTable
        label="Numbers of the winner and the runner-up"
        columns={decision.runner_up ? NUMBERS : NUMBERS.slice(0, 2)}
        rows={lines}
        id={(line) => line.key}
      />
    </div>
  );
}

const NUMBERS: readonly Column<Compared>[] = [
  { key: "number", title: "Number", show: (line) => <span title={line.key}>{line.title}</span> },
  { key: "winner", title: "Winner", show: (line) => line.winner, right: true },
  { key: "second", title: "Runner-up", show: (line) => line.runnerUp, right: true },
];

type Waiting = NonNullable<Decision["waiting"]>[number];

const WAITING: readonly Column<Waiting>[] = [
  {
    key: "unit",
    title: "What waited",
    value: (row) => row.unit,
    show: (row) => (row.queries.length === 1 ? <QueryLink name={row.queries[0]!} /> : row.unit),
  },
  { key: "class", title: "Class", value: (row) => row.class, show: (row) => <ClassMark name={row.class} /> },
  { key: "waited", title: "For", value: (row) => row.waited, show: (row) => duration(row.waited), right: true },
  { key: "tuples", title: "Tuples", value: (row) => row.tuples, show: (row) => count(row.tuples), right: true },
  {
    key: "score",
    title: "Compared by",
    help: "The first of its numbers; hover for all of them",
    value: (row) => firstNumber(row)?.[1],
    show: (row) => <span title={allNumbers(row)}>{scoreOf(row)}</span>,
    right: true,
  },
];

const firstNumber = (row: Waiting): [string, number] | undefined => Object.entries(row.numbers ?? {})[0];

function scoreOf(row: Waiting): string {
  const first = firstNumber(row);
  return first ? figure(...first) : "–";
}

const allNumbers = (row: Waiting): string =>
  Object.entries(row.numbers ?? {})
    .map(([key, value]) => `${titleOf(key)}: ${figure(key, value)}`)
    .join("\n");

function Names({ of }: { of: readonly string[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? of : of.slice(0, NAMES);
  return (
    <>
      {shown.map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <QueryLink name={name} />
        </span>
      ))}
      {of.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          and {of.length - shown.length} more
        </button>
      )}
    </>
  );
}

/** A value that has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), SETTLED);
    return () => window.clearTimeout(timer);
  }, [value]);
  return settled;
}
