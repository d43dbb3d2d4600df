/** The page of one query: how it does, why it was slow, what it gives, and what can be done with it. */

import { pathOf } from "../../../api/client";
import type { QueryDetails } from "../../../api/types";
import { count } from "../../../lib/format";
import { useAnswer } from "../../../lib/polling";
import { status } from "../../../live/connection";
import { may } from "../../../live/me";
import { Empty, PageHead, Panel } from "../../../ui/panel";
import { Loading, ProblemBox } from "../../../ui/problem_box";
import { type Tab, Tabs } from "../../../ui/tabs";
import { DeadLettersTab } from "./dead_letters_tab";
import { QueryHead } from "./head";
import { JournalTab } from "./journal_tab";
import { OverviewTab } from "./overview_tab";
import { PriorityTab } from "./priority_tab";
import { replaceDraft } from "./replace_draft";
import { ReplaceTab } from "./replace_tab";
import { ResultsTab } from "./results_tab";
import { WhyTab } from "./why_tab";

const EACH = 2500; // milliseconds

export function QueryPage({ name }: { name: string }) {
  // Asked again only while the status has it, and once more when that changes.
  const known = status.value?.queries?.[name] !== undefined;
  const { data, error, loading, reload } = useAnswer<QueryDetails>(pathOf("queries", name), known ? EACH : 0);
  const gone = error?.status === 404;
  if (loading) return <Loading what={`Asking for query ${name}`} />;
  if (!data) return gone ? <NoSuchQuery name={name} /> : <ProblemBox problem={error} retry={reload} />;
  const query = live(data, gone);
  return (
    <>
      <QueryHead query={query} gone={gone} changed={reload} />
      {error && !gone && <ProblemBox problem={error} retry={reload} />}
      <Tabs label={`Query ${name}`} tabs={tabsOf(query, gone, reload)} forget={["at", "of", "moment"]} />
    </>
  );
}

/** The details with the newer numbers of the live status. */
function live(details: QueryDetails, gone: boolean): QueryDetails {
  const now = gone ? undefined : status.value?.queries?.[details.name];
  if (!now) return details;
  const { target, ...numbers } = now;
  return { ...details, error: "", ...numbers, target_status: target ?? details.target_status };
}

function tabsOf(query: QueryDetails, gone: boolean, changed: () => void): Tab[] {
  const tabs: Tab[] = [
    { key: "", title: "Overview", show: () => <OverviewTab query={query} gone={gone} /> },
    { key: "why", title: "Why was it slow?", show: () => <WhyTab query={query} gone={gone} /> },
    { key: "results", title: "Results", show: () => <ResultsTab query={query} /> },
    {
      key: "dead",
      title: query.dead_letters ? `Dead letters (${count(query.dead_letters)})` : "Dead letters",
      show: () => <DeadLettersTab query={query} />,
    },
    { key: "journal", title: "Journal", show: () => <JournalTab name={query.name} /> },
  ];
  if (may("operate", { shared: true }))
    tabs.push({ key: "priority", title: "Priority", show: () => <PriorityTab query={query} /> });
  if (may("submit") && (!gone || replaceDraft(query.name) !== null)) {
    tabs.push({
      key: "replace",
      title: "Replace",
      show: () => <ReplaceTab query={query} gone={gone} changed={changed} />,
    });
  }
  return tabs;
}

function NoSuchQuery({ name }: { name: string }) {
  return (
    <>
      <PageHead title={name} />
      <Panel title="Not found">
        <Empty title={`There is no query ${name}`}>
          <p>It may have been stopped, or it was never started.</p>
          <a class="button" href="/queries">
            Go to all queries
          </a>
        </Empty>
      </Panel>
    </>
  );
}
