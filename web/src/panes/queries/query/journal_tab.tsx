import { useMemo, useState } from "preact/hooks";
import { get, withQuery } from "../../../api/client";
import type { JournalEntry, Page } from "../../../api/types";
import { clock } from "../../../lib/format";
import { useAnswer } from "../../../lib/polling";
import { journal } from "../../../live/connection";
import { Action } from "../../../ui/action";
import { type Column, DataTable } from "../../../ui/data_table";
import { Empty, Panel } from "../../../ui/panel";
import { Loading, ProblemBox } from "../../../ui/problem_box";
import { joined, keyOf } from "./journal_lines";

const PAGE = 100;

const COLUMNS: readonly Column<JournalEntry>[] = [
  { key: "at", title: "When", value: (line) => line.at, show: (line) => clock(line.at) },
  { key: "from", title: "From", show: (line) => line.from || <span class="quiet-text">–</span> },
  { key: "to", title: "To", show: (line) => line.to },
  { key: "reason", title: "Reason", show: (line) => <span class="value">{line.reason}</span> },
];

/** What has happened to a query, the newest first; new lines come by themselves. */
export function JournalTab({ name }: { name: string }) {
  const path = withQuery("/v1/journal", { query: name, limit: PAGE });
  const { data, error, loading, reload } = useAnswer<Page<JournalEntry>>(path);
  const [older, setOlder] = useState<Page<JournalEntry>>({ items: [], next: "" });
  const live = journal.value;
  const lines = useMemo(
    () => joined(live.filter((line) => line.query === name).concat(data?.items ?? [], older.items)),
    [live, data, older, name],
  );
  const next = older.next === "" ? data?.next : older.next;
  const more = async () => {
    const page = await get<Page<JournalEntry>>(`${path}&cursor=${encodeURIComponent(next!)}`);
    setOlder({ items: [...older.items, ...page.items], next: page.next });
  };
  return (
    <Panel title="Journal" note="changes of state, and targets missed or met">
      {loading && <Loading />}
      <ProblemBox problem={error} retry={reload} />
      {data && !lines.length && <Empty title="Nothing has happened to it yet" />}
      {lines.length > 0 && <DataTable label={`Journal of ${name}`} columns={COLUMNS} rows={lines} id={keyOf} />}
      {next && <Action run={more}>Show older lines</Action>}
    </Panel>
  );
}
