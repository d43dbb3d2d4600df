import { pathOf } from "../../api/client";
import type { CurrentPolicy, PolicyDetails } from "../../api/deciding_types";
import { readPolicy, readSettings } from "../../lib/policy_text";
import { useAnswer } from "../../lib/polling";
import { place } from "../../lib/router";
import { PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { Prose } from "../../ui/prose";
import { PolicyError } from "./current_panel";
import { familyMeaning, familyTitle } from "./names";
import { SettingsPanel } from "./settings_panel";

interface PageProps {
  name: string;
  current: CurrentPolicy | null;
  reload: () => void;
}

/** One policy: what it does, what it reads, and its settings. */
export function PolicyPage({ name, current, reload }: PageProps) {
  const policy = useAnswer<PolicyDetails>(pathOf("policies", name));
  const inForce = current !== null && readPolicy(current.policy).name === name;
  const chosen = place.value.query.get("settings");
  const settings = chosen !== null ? readSettings(chosen) : inForce ? readPolicy(current.policy).settings : {};
  return (
    <>
      <p>
        <a href="/policies">All policies</a>
      </p>
      <PageHead
        title={
          <>
            {name} {inForce && <span class="badge good">in force</span>}
          </>
        }
        lead={policy.data?.rule}
      />
      {inForce && current.error && <PolicyError text={current.error} />}
      <ProblemBox problem={policy.error} retry={policy.reload} />
      {policy.loading && <Loading />}
      {policy.data && (
        <div class="policy-page">
          <AboutPanel policy={policy.data} />
          {current && <SettingsPanel policy={policy.data} current={current} settings={settings} reload={reload} />}
        </div>
      )}
    </>
  );
}

function AboutPanel({ policy }: { policy: PolicyDetails }) {
  const needs = Object.entries(policy.needs);
  return (
    <Panel title="What it does">
      <dl class="fact-list">
        <dt>rule</dt>
        <dd>{policy.rule}</dd>
        <dt>from</dt>
        <dd>{policy.source}</dd>
        <dt>family</dt>
        <dd>
          {familyTitle(policy.family)}: {familyMeaning(policy.family)}
        </dd>
        <dt>schedules</dt>
        <dd>{levelText(policy)}</dd>
        <dt>reads</dt>
        <dd>
          {needs.length === 0 && "nothing but queues: what waits, and since when"}
          {needs.map(([need, meaning]) => (
            <div key={need}>
              <code>{need}</code>: {meaning}
            </div>
          ))}
        </dd>
      </dl>
      <hr />
      <Prose text={policy.description} />
    </Panel>
  );
}

const LEVELS: Record<string, string> = {
  query: "whole queries",
  operator: "single operators",
  path: "paths from a stream to the result",
  segment: "segments of operators",
};

function levelText({ level, levels }: PolicyDetails): string {
  const [first, ...others] = [level, ...levels.filter((other) => other !== level)];
  const words = others.map((other) => LEVELS[other] ?? other);
  return `${LEVELS[first!] ?? first}${words.length ? `; can schedule ${words.join(" or ")} instead` : ""}`;
}
