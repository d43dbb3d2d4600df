/** What a result waited for: in a sentence, as a bar, by cause, and run by run. */

import { useMemo } from "preact/hooks";
import { type Delay, type Numbers, PARTS, type Why } from "../../../api/types";
import { clock, count, duration, percent } from "../../../lib/format";
import { type Column, DataTable } from "../../../ui/data_table";
import { ClassMark, cssVariables, QueryLink } from "../../../ui/marks";
import { Meter } from "../../../ui/meter";
import { Empty } from "../../../ui/panel";
import { partColour } from "./curve_numbers";
import { PartsInWords } from "./time_panel";

export function Explanation({ why, origin }: { why: Why; origin: number | null }) {
  return (
    <div class="stack explanation">
      <p class="sentence">
        <strong>{why.query}</strong> {why.sentence}
      </p>
      <Moments why={why} origin={origin} />
      <Meter
        label="What its time went to"
        shares={PARTS.filter((part) => why.parts[part] > 0).map((part) => ({
          name: `${part} ${duration(why.parts[part])}`,
          share: why.seconds ? why.parts[part] / why.seconds : 0,
          colour: partColour(part),
        }))}
      />
      <div class="columns">
        <section>
          <h3>Causes</h3>
          <Causes causes={why.causes} seconds={why.seconds} />
        </section>
        {why.means && (
          <section>
            <h3>All results of the last ten minutes</h3>
            <PartsInWords means={why.means} />
          </section>
        )}
      </div>
      <section>
        <h3>Runs that were in the way</h3>
        <Delays delays={why.delays} origin={origin} />
      </section>
    </div>
  );
}

type Moment = [what: string, at: number | null | undefined];

function Moments({ why, origin }: { why: Why; origin: number | null }) {
  if (origin === null) return null;
  const { arrival, began, ended, delivered } = why.moments;
  const moments: Moment[] = [
    ["arrived", arrival],
    ...(why.waits_still
      ? []
      : ([
          ["its run began", began],
          ["was committed", ended],
          ["delivered", delivered],
        ] satisfies Moment[])),
  ];
  const told = moments.flatMap(([what, at]) =>
    at === null || at === undefined ? [] : [`${what} ${clock(origin + at)}`],
  );
  if (why.waits_still) told.push("it waits still");
  return told.length ? <p class="quiet-text">Its tuple {told.join("; ")}.</p> : null;
}

const MEANINGS: Record<string, string> = {
  "policy's order": "runs that the policy put before it",
  "own class": "runs of its own class",
  "own run": "its own run",
  "long run": "a long run that was under way",
  "free worker": "until a worker was free or the scheduler decided",
  "shared operator": "operators that it shares with others",
  "not scheduled": "it was not scheduled, as when it is paused",
  window: "until its window closed",
  commit: "being committed",
  sink: "until its sink had it",
};

function Causes({ causes, seconds }: { causes: Record<string, number>; seconds: number }) {
  const found = Object.entries(causes)
    .filter(([, value]) => value > 0)
    .sort(([, a], [, b]) => b - a);
  return (
    <ul class="causes">
      {found.map(([cause, value]) => (
        <li key={cause}>
          <span class="number">{duration(value)}</span>
          <span class="cause-bar" style={cssVariables({ "--share": `${seconds ? (value / seconds) * 100 : 0}%` })}>
            <span />
          </span>
          <span title={MEANINGS[cause]}>
            {cause} <span class="quiet-text">{percent(seconds ? value / seconds : 0)}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

interface Row extends Delay {
  id: string;
  at: number | null;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "at", title: "Began", value: (row) => row.began, show: (row) => <Began row={row} /> },
  {
    key: "seconds",
    title: "Delayed it by",
    value: (row) => row.seconds,
    show: (row) => duration(row.seconds),
    right: true,
    downFirst: true,
  },
  { key: "unit", title: "Run", value: (row) => row.unit, show: (row) => <Unit row={row} /> },
  { key: "class", title: "Class", value: (row) => row.class, show: (row) => <ClassMark name={row.class} /> },
  {
    key: "tuples",
    title: "Tuples",
    value: (row) => row.tuples,
    show: (row) => count(row.tuples),
    right: true,
    downFirst: true,
  },
  {
    key: "cause",
    title: "Cause",
    value: (row) => row.cause,
    show: (row) => <span class="cause-name">{row.cause}</span>,
  },
  {
    key: "numbers",
    title: "Its numbers vs those of this query",
    help: "What the policy compared when it chose that run instead of this query",
    show: (row) => <Compared row={row} />,
  },
];

function Delays({ delays, origin }: { delays: readonly Delay[]; origin: number | null }) {
  const rows = useMemo(
    () =>
      delays.map((delay, place) => ({
        ...delay,
        id: String(place),
        at: origin === null ? null : origin + delay.began,
      })),
    [delays, origin],
  );
  if (!rows.length) return <Empty title="No run was in its way" />;
  return <DataTable label="Runs that were in the way" columns={COLUMNS} rows={rows} id={(row) => row.id} />;
}

/** When a run began, which leads to it on the timeline. */
function Began({ row }: { row: Row }) {
  if (!row.run || row.at === null) return <span class="number">{clock(row.at)}</span>;
  const end = (row.at + 5).toFixed(2);
  return (
    <a class="number" href={`/timeline?run=${row.run}&at=${end}&span=10`} title="Show it on the timeline">
      {clock(row.at)}
    </a>
  );
}

function Unit({ row }: { row: Row }) {
  if (row.queries.length === 1) return <QueryLink name={row.queries[0]!} />;
  return <span title={row.queries.join(", ")}>{row.unit || "other work"}</span>;
}

function Compared({ row: { numbers, own_numbers: own, reason } }: { row: Row }) {
  const names = Object.keys(numbers ?? {}).filter((name) => name !== "class_priority");
  return (
    <span class="quiet-text compared" title={titleOf(numbers, own)}>
      {names.map((name) => `${name}: ${shown(numbers?.[name])}${own ? ` vs ${shown(own[name])}` : ""}`).join(", ")}
      {reason && `${names.length ? "; " : ""}${reason}`}
    </span>
  );
}

const shown = (value: number | undefined): string =>
  value === undefined ? "–" : count(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

const titleOf = (numbers: Numbers | null, own: Numbers | null): string =>
  `run: ${JSON.stringify(numbers)}\nthis query: ${JSON.stringify(own)}`;
