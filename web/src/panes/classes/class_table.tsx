import { useMemo } from "preact/hooks";
import { pathOf, remove } from "../../api/client";
import type { ClassDetails, ClassStatus } from "../../api/types";
import { count, duration, percent, plural, rate } from "../../lib/format";
import { choose } from "../../lib/router";
import { status } from "../../live/connection";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data_table";
import { ClassMark } from "../../ui/marks";

interface Row extends ClassDetails {
  live: ClassStatus | undefined;
}

const last = (row: Row) => row.live?.latency.last_minute;

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", title: "Class", value: (row) => row.name, show: (row) => <ClassMark name={row.name} /> },
  { key: "priority", title: "Priority", value: (row) => row.priority, show: (row) => count(row.priority), right: true },
  {
    key: "target",
    title: "Target",
    help: "When results are wanted, for queries that have no target of their own",
    show: (row) => row.target ?? <None />,
  },
  {
    key: "lag",
    title: "Lag limit",
    help: "What happens when a query falls too far behind, if it says nothing itself",
    show: (row) => row.lag ?? <None />,
  },
  {
    key: "queries",
    title: "Queries",
    value: (row) => row.live?.queries,
    show: (row) => <a href={`/queries?class=${encodeURIComponent(row.name)}`}>{count(row.live?.queries ?? 0)}</a>,
    right: true,
  },
  {
    key: "p50",
    title: "p50",
    help: "Half of the results of the last minute took at most this long",
    value: (row) => last(row)?.p50,
    show: (row) => duration(last(row)?.p50),
    right: true,
  },
  { key: "p95", title: "p95", value: (row) => last(row)?.p95, show: (row) => duration(last(row)?.p95), right: true },
  {
    key: "targets",
    title: "Targets met",
    help: "How many of its queries meet their target now",
    show: (row) => <Targets row={row} />,
    right: true,
  },
  {
    key: "wait",
    title: "Oldest wait",
    help: "How long the oldest waiting tuple has waited",
    value: (row) => row.live?.oldest_wait,
    show: (row) => duration(row.live?.oldest_wait),
    right: true,
  },
  { key: "rate", title: "Tuples", value: (row) => row.live?.rate, show: (row) => rate(row.live?.rate), right: true },
  {
    key: "load",
    title: "Load",
    help: "Its share of the workers' time in the last 10 s",
    value: (row) => row.live?.load,
    show: (row) => percent(row.live?.load),
    right: true,
  },
];

const None = () => <span class="quiet-text">none</span>;

function Targets({ row }: { row: Row }) {
  const targets = row.live?.targets;
  if (!targets) return <None />;
  if (!targets.met && !targets.missed) return <span class="quiet-text">no results</span>;
  return (
    <span class={targets.missed ? "bad-text" : "good-text"}>
      {targets.met} of {targets.met + targets.missed}
    </span>
  );
}

/** All classes with how they do now, and what can be done with them. */
export function ClassTable({ classes, reload }: { classes: readonly ClassDetails[]; reload: () => void }) {
  const live = status.value?.classes;
  const rows = useMemo(() => classes.map((one) => ({ ...one, live: live?.[one.name] })), [classes, live]);
  const operator = may("operate", { shared: true });
  const targets = rows.some((row) => row.live?.targets);
  const columns = useMemo(() => {
    const shown = COLUMNS.filter((column) => column.key !== "targets" || targets);
    if (operator) shown.push({ key: "actions", title: "", show: (row) => <Actions row={row} reload={reload} /> });
    return shown;
  }, [operator, targets, reload]);
  return <DataTable label="Classes" columns={columns} rows={rows} id={(row) => row.name} />;
}

function Actions({ row, reload }: { row: Row; reload: () => void }) {
  const queries = row.live?.queries ?? 0;
  const drop = async () => {
    await remove(pathOf("classes", row.name));
    choose({ change: null });
    reload();
  };
  return (
    <div class="row-actions">
      <button
        type="button"
        class="button"
        aria-label={`Change ${row.name}`}
        onClick={() => choose({ change: row.name, new: null })}
      >
        Change
      </button>
      <Action
        kind="danger"
        run={drop}
        done={`Class ${row.name} is removed`}
        disabled={queries > 0}
        title={queries > 0 ? `${plural(queries, "query", "queries")} of it must be stopped or moved first` : ""}
        ask={{
          title: `Remove class ${row.name}?`,
          text: <p>No query is in it. It can be declared again later.</p>,
          yes: "Remove",
        }}
      >
        Remove
      </Action>
    </div>
  );
}
