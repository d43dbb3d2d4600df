import { useMemo } from "preact/hooks";
import type { CurrentPolicy, PolicyDetails } from "../../api/deciding_types";
import { plural } from "../../lib/format";
import { readPolicy, valueText } from "../../lib/policy_text";
import { choose, place } from "../../lib/router";
import { Empty, Panel } from "../../ui/panel";
import { COMMON_SETTINGS, familyMeaning, familyTitle, policyPath } from "./names";
import { families, matches } from "./search";

interface ListProps {
  policies: readonly PolicyDetails[];
  current: CurrentPolicy | null;
}

/** All policies, by families; a word finds those that mention it. */
export function PolicyList({ policies, current }: ListProps) {
  const words = place.value.query.get("find") ?? "";
  const found = useMemo(() => policies.filter((policy) => matches(policy, words)), [policies, words]);
  const inForce = current ? readPolicy(current.policy).name : "";
  return (
    <>
      <div class="row">
        <label class="policy-search">
          <span class="hidden-text">Find policies</span>
          <input
            type="search"
            placeholder="Find by name, rule, document, statistic or setting"
            value={words}
            onInput={(event) => choose({ find: event.currentTarget.value })}
          />
        </label>
        <span class="quiet-text number" role="status">
          {words ? `${found.length} of ${policies.length}` : plural(policies.length, "policy", "policies")}
        </span>
      </div>
      {!found.length && (
        <Empty title={`No policy mentions "${words}"`}>
          <button type="button" class="button" onClick={() => choose({ find: null })}>
            Show all
          </button>
        </Empty>
      )}
      {families(found).map((family) => (
        <Panel key={family.name} title={familyTitle(family.name)} note={familyMeaning(family.name)}>
          <ul class="policy-list">
            {family.policies.map((policy) => (
              <PolicyLine key={policy.name} policy={policy} inForce={policy.name === inForce} />
            ))}
          </ul>
        </Panel>
      ))}
    </>
  );
}

function PolicyLine({ policy, inForce }: { policy: PolicyDetails; inForce: boolean }) {
  const own = policy.settings.filter((setting) => !COMMON_SETTINGS.has(setting.name));
  return (
    <li>
      <div class="policy-name">
        <a href={policyPath(policy.name)}>{policy.name}</a>
        {inForce && <span class="badge good">in force</span>}
      </div>
      <div>
        <div>{policy.rule}</div>
        <div class="quiet-text">{policy.source}</div>
      </div>
      <dl class="policy-facts">
        <dt>reads</dt>
        <dd>{Object.keys(policy.needs).length ? <Needs needs={policy.needs} /> : "queues alone"}</dd>
        {own.length > 0 && (
          <>
            <dt>settings</dt>
            <dd>
              {own.map((setting) => (
                <code key={setting.name} class="chip" title={settingHelp(setting)}>
                  {setting.name}={valueText(setting.default) || "–"}
                </code>
              ))}
            </dd>
          </>
        )}
      </dl>
    </li>
  );
}

const settingHelp = ({ meaning, choices }: PolicyDetails["settings"][number]): string =>
  choices.length ? `${meaning}: ${choices.join(", ")}` : meaning;

/** The statistics that a policy looks at. */
function Needs({ needs }: { needs: Record<string, string> }) {
  return (
    <>
      {Object.entries(needs).map(([need, meaning]) => (
        <code key={need} class="chip" title={meaning}>
          {need}
        </code>
      ))}
    </>
  );
}
