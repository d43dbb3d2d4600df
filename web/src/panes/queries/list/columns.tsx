import { classColour } from "../../../lib/colours";
import { count, duration, rate } from "../../../lib/format";
import { queryPath } from "../../../lib/router";
import type { Column } from "../../../ui/data_table";
import { ClassMark, StateBadge } from "../../../ui/marks";
import { Sparkline } from "../../../ui/sparkline";
import { tell, tellError } from "../../../ui/toasts";
import { canPause, canResume, pause, resume } from "../commands";
import { TargetMark } from "../target_mark";
import type { Row } from "./rows";
import { SelectAll, SelectBox } from "./selection";

const recent = (row: Row) => row.query.latency.last_10_s;

/** All columns but those for selecting and acting. */
const SHOWN: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Query",
    value: (row) => row.name,
    show: (row) => (
      <a href={queryPath(row.name)} title={row.name}>
        {row.name}
      </a>
    ),
    width: 136,
  },
  {
    key: "class",
    title: "Class",
    value: (row) => row.query.class,
    show: (row) => <ClassMark name={row.query.class} />,
    width: 114,
  },
  { key: "state", title: "State", value: (row) => row.query.state, show: (row) => <State row={row} />, width: 80 },
  {
    key: "target",
    title: "Target",
    help: "How soon results are wanted, and whether they come so soon",
    value: (row) => row.query.target?.seconds,
    show: (row) => <TargetMark target={row.query.target} short />,
    width: 120,
  },
  {
    key: "p50",
    title: "p50",
    help: "Half of the results of the last 10 s took at most this long",
    value: (row) => recent(row).p50,
    show: (row) => duration(recent(row).p50),
    right: true,
    width: 72,
    downFirst: true,
  },
  {
    key: "p95",
    title: "p95",
    help: "95 % of the results of the last 10 s took at most this long",
    value: (row) => recent(row).p95,
    show: (row) => duration(recent(row).p95),
    right: true,
    width: 72,
    downFirst: true,
  },
  {
    key: "line",
    title: "10 minutes",
    help: "Its p95 over the last ten minutes; the dashed line is its target",
    show: (row) => <Line row={row} />,
    width: 92,
  },
  {
    key: "wait",
    title: "Oldest",
    help: "How long the oldest waiting tuple has waited",
    value: (row) => row.query.oldest_wait,
    show: (row) => duration(row.query.oldest_wait),
    right: true,
    width: 72,
    downFirst: true,
  },
  {
    key: "waiting",
    title: "Waiting",
    help: "Tuples that wait for it",
    value: (row) => row.query.waiting,
    show: (row) => count(row.query.waiting),
    right: true,
    width: 62,
    downFirst: true,
  },
  {
    key: "rate",
    title: "Tuples",
    help: "Tuples that it reads per second",
    value: (row) => row.query.rate,
    show: (row) => rate(row.query.rate),
    right: true,
    width: 66,
    downFirst: true,
  },
  {
    key: "dead",
    title: "Dead",
    help: "Dead letters: tuples that it could not process",
    value: (row) => row.query.dead_letters,
    show: (row) => <Dead row={row} />,
    right: true,
    width: 46,
    downFirst: true,
  },
];

/** The columns for a user who may steer queries, or may not. */
export function columnsFor(steers: boolean): readonly Column<Row>[] {
  if (!steers) return SHOWN;
  return [
    { key: "select", title: <SelectAll />, show: (row) => <SelectBox name={row.name} />, width: 30 },
    ...SHOWN,
    {
      key: "act",
      title: <span class="hidden-text">Pause or resume</span>,
      show: (row) => <RowAction row={row} />,
      width: 42,
    },
  ];
}

function State({ row: { query } }: { row: Row }) {
  if (query.stalled !== undefined)
    return (
      <span class="badge bad" title={`nothing was committed for ${duration(query.stalled)} although tuples wait`}>
        stalled
      </span>
    );
  return (
    <span title={query.error || undefined}>
      <StateBadge state={query.state} />
    </span>
  );
}

function Line({ row }: { row: Row }) {
  if (!row.line?.some((value) => value !== null)) return <span class="quiet-text">–</span>;
  return (
    <Sparkline
      values={row.line}
      label={`p95 of ${row.name} over the last ten minutes`}
      target={row.query.target?.seconds}
      colour={classColour(row.query.class)}
    />
  );
}

function Dead({ row }: { row: Row }) {
  if (!row.query.dead_letters) return <>0</>;
  return (
    <a class="warn-text" href={`${queryPath(row.name)}?tab=dead`}>
      {count(row.query.dead_letters)}
    </a>
  );
}

function RowAction({ row: { name, query } }: { row: Row }) {
  if (canPause(query.state)) return <Quick label="Pause" sign="❚❚" name={name} run={pause} done="paused" />;
  if (canResume(query.state)) return <Quick label="Resume" sign="▶" name={name} run={resume} done="resumed" />;
  return null;
}

interface QuickProps {
  label: string;
  sign: string;
  name: string;
  run: (name: string) => Promise<unknown>;
  done: string;
}

function Quick({ label, sign, name, run, done }: QuickProps) {
  return (
    <button
      type="button"
      class="button quiet small"
      aria-label={`${label} ${name}`}
      title={label}
      onClick={() => run(name).then(() => tell(`${name} ${done}`), tellError)}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
