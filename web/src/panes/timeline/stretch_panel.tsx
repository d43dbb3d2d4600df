/** The timeline in words and numbers: what ran in the stretch that is shown, and its newest runs as a table. */

import { useState } from "preact/hooks";
import { classRanks } from "../../lib/colours";
import { clock, count, duration, percent, plural } from "../../lib/format";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import type { Bar, RunStore } from "./run_store";
import { type ClassSummary, newestIn, summarised } from "./summary";
import { spanOf, type View } from "./time_scale";
import { ranFor, stateText, waitOf } from "./tooltip";

const NEWEST = 25;

interface Line extends ClassSummary {
  share: number;
}

const CLASSES: readonly Column<Line>[] = [
  { key: "name", title: "Class", show: (row) => <ClassMark name={row.name} /> },
  { key: "runs", title: "Runs", value: (row) => row.runs, show: (row) => count(row.runs), right: true },
  {
    key: "share",
    title: "Workers' time",
    help: "Its share of the time that the workers had",
    value: (row) => row.share,
    show: (row) => percent(row.share),
    right: true,
  },
  {
    key: "mean",
    title: "Mean wait",
    help: "From the arrival of a run's oldest tuple to the run's beginning",
    value: (row) => row.meanWait,
    show: (row) => duration(row.meanWait),
    right: true,
  },
  {
    key: "longest",
    title: "Longest wait",
    value: (row) => row.longestWait,
    show: (row) => duration(row.longestWait),
    right: true,
  },
  {
    key: "cancelled",
    title: "Cancelled",
    help: "Runs that made way for something more important",
    value: (row) => row.cancelled,
    show: (row) => count(row.cancelled),
    right: true,
  },
  {
    key: "failed",
    title: "Failed",
    value: (row) => row.failed,
    show: (row) => <span class={row.failed ? "bad-text" : ""}>{count(row.failed)}</span>,
    right: true,
  },
];

/** For those who see their own runs only: how many workers there are for them is not known. */
const OWN = CLASSES.filter((column) => column.key !== "share");

interface StretchPanelProps {
  store: RunStore;
  view: View;
  id: string; // of the sentence, which describes the picture
  onChoose: (bar: Bar) => void;
}

export function StretchPanel({ store, view: shown, id, onChoose }: StretchPanelProps) {
  const [open, setOpen] = useState(false);
  const view = { from: Math.min(shown.to, Math.max(shown.from, store.keptFrom)), to: shown.to };
  const time = Math.max(1e-9, spanOf(view)) * Math.max(1, store.workers);
  const ranks = classRanks.value;
  const lines = summarised(store.bars, view)
    .map((line) => ({ ...line, share: line.busy / time }))
    .sort((a, b) => (ranks.get(a.name) ?? 99) - (ranks.get(b.name) ?? 99) || a.name.localeCompare(b.name));
  const runs = lines.reduce((sum, line) => sum + line.runs, 0);
  const busy = lines.reduce((sum, line) => sum + line.share, 0);
  return (
    <Panel title="In this stretch" note={`${clock(view.from)} to ${clock(view.to)}`} class="timeline">
      <p id={id}>
        {plural(runs, "run")} began in {duration(Math.round(spanOf(view) * 10) / 10)}
        {!store.overlapping && (
          <>
            ; {plural(store.workers, "worker was", "workers were")} busy for {percent(busy)} of the time
          </>
        )}
        .
      </p>
      {lines.length > 0 && (
        <DataTable
          label="Runs by class"
          columns={store.overlapping ? OWN : CLASSES}
          rows={lines}
          id={(row) => row.name}
        />
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The newest runs as a table</summary>
        {open && (
          <DataTable
            label="The newest runs"
            columns={columns(store.at, onChoose)}
            rows={newestIn(store.bars, view, NEWEST)}
            id={(bar) => bar.key}
          />
        )}
      </details>
    </Panel>
  );
}

function columns(now: number, onChoose: (bar: Bar) => void): Column<Bar>[] {
  return [
    { key: "began", title: "Began", show: (bar) => <span class="number">{clock(bar.run.began)}</span> },
    { key: "unit", title: "What ran", show: (bar) => bar.run.unit },
    { key: "class", title: "Class", show: (bar) => <ClassMark name={bar.run.class} /> },
    { key: "worker", title: "Worker", show: (bar) => bar.run.worker, right: true },
    { key: "members", title: "Queries", show: (bar) => count(bar.run.members), right: true },
    { key: "tuples", title: "Tuples", show: (bar) => count(bar.run.tuples), right: true },
    { key: "waited", title: "Waited", show: (bar) => duration(waitOf(bar)), right: true },
    { key: "ran", title: "Ran", show: (bar) => duration(ranFor(bar, now)), right: true },
    {
      key: "state",
      title: "State",
      show: (bar) => <span title={stateText(bar)}>{bar.run.state}</span>,
    },
    {
      key: "why",
      title: "Decision",
      show: (bar) => (
        <button type="button" class="button quiet" onClick={() => onChoose(bar)}>
          Why?<span class="hidden-text"> Run {bar.run.id}</span>
        </button>
      ),
    },
  ];
}
