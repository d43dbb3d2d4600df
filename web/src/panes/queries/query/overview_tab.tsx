import type { QueryDetails } from "../../../api/types";
import { count, duration, rate } from "../../../lib/format";
import { choose } from "../../../lib/router";
import { Panel } from "../../../ui/panel";
import { useCurve } from "./curve";
import { LagPanel } from "./lag_panel";
import { LatencyPanel } from "./latency_panel";
import { PlanPanel } from "./plan_panel";
import { TimePanel } from "./time_panel";

/** How a query does now: its numbers, its latency, where its time goes, its plan and its SQL. */
export function OverviewTab({ query, gone }: { query: QueryDetails; gone: boolean }) {
  const curve = useCurve(query.name, gone);
  return (
    <>
      <Facts query={query} />
      <div class="columns">
        <LatencyPanel
          curve={curve}
          query={query}
          onPick={(at) => choose({ tab: "why", at: at.toFixed(1) })}
          height={300}
          hint="Click a moment to see why it was slow then."
        />
        <TimePanel curve={curve} />
      </div>
      <div class="columns">
        <PlanPanel query={query} />
        <div class="stack">
          <LagPanel query={query} curve={curve.data} />
          <Panel title="SQL">
            <pre class="sql">{query.sql}</pre>
          </Panel>
        </div>
      </div>
    </>
  );
}

function Facts({ query }: { query: QueryDetails }) {
  const now = query.latency.last_10_s;
  const facts: [string, string, string?][] = [
    ["p50, last 10 s", duration(now.p50), "Half of the results took at most this long"],
    ["p95, last 10 s", duration(now.p95), "95 % of the results took at most this long"],
    ["Oldest wait", duration(query.oldest_wait), "How long the oldest waiting tuple has waited"],
    ["Waiting", count(query.waiting), "Tuples that wait for it"],
    ["Reads", rate(query.rate), "Tuples per second"],
    ["Results", count(query.tuples_out), "Since the engine was started"],
    ["Dead letters", count(query.dead_letters), "Tuples that it could not process"],
  ];
  if (query.skipped)
    facts.push(["Skipped", count(query.skipped), "Tuples that it jumped over because of its lag limit"]);
  return (
    <dl class="tiles">
      {facts.map(([name, value, help]) => (
        <div key={name} title={help}>
          <dt>{name}</dt>
          <dd class="number">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
