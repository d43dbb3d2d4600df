import { put } from "../../api/client";
import type { CurrentPolicy, Fusion, PolicyDetails } from "../../api/deciding_types";
import { FUSIONS } from "../../api/deciding_types";
import { readPolicy } from "../../lib/policy_text";
import { choose, place } from "../../lib/router";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { Choice } from "../../ui/choice";
import { Panel } from "../../ui/panel";
import { PreviewView, PreviewWords, usePreview } from "../../ui/preview";
import { FUSION_MEANING, policyPath } from "./names";

interface CurrentProps {
  current: CurrentPolicy;
  policies: readonly PolicyDetails[];
  reload: () => void;
}

/** The policy that decides now, and which queries share jobs. */
export function CurrentPanel({ current, policies, reload }: CurrentProps) {
  const { name } = readPolicy(current.policy);
  const known = policies.find((policy) => policy.name === name);
  return (
    <Panel title="In force" class="in-force">
      <div class="stack">
        {current.error && <PolicyError text={current.error} />}
        <p class="row">
          <a class="current-name" href={policyPath(name)}>
            {current.policy}
          </a>
          {known && <span>{known.rule}</span>}
          {known && <span class="quiet-text">{known.source}</span>}
        </p>
        <FusionPart current={current} reload={reload} />
      </div>
    </Panel>
  );
}

/** Why a policy was taken out of force. */
export const PolicyError = ({ text }: { text: string }) => (
  <div class="problem" role="alert">
    A policy failed and was taken out: {text}
  </div>
);

/** Which queries share jobs: what is, what could be, and switching. */
function FusionPart({ current, reload }: { current: CurrentPolicy; reload: () => void }) {
  if (!may("operate", { shared: true })) return <FusionNow fuse={current.fuse} />;
  return <FusionSwitch current={current} reload={reload} />;
}

/** For those who may not change it. */
const FusionNow = ({ fuse }: { fuse: Fusion }) => (
  <p class="fusion-meaning">
    Queries share jobs by <strong>{fuse}</strong>: {FUSION_MEANING[fuse]}
  </p>
);

function FusionSwitch({ current, reload }: { current: CurrentPolicy; reload: () => void }) {
  const wanted = place.value.query.get("fuse") as Fusion | null;
  const chosen = wanted && FUSIONS.includes(wanted) ? wanted : current.fuse;
  const different = chosen !== current.fuse;
  const preview = usePreview(different ? { fuse: chosen } : null);
  return (
    <div class="stack">
      <div class="row">
        <strong>Queries that share jobs</strong>
        <Choice
          label="Which queries share jobs"
          value={chosen}
          options={FUSIONS.map((fuse) => [fuse, fuse === current.fuse ? `${fuse} (now)` : fuse] as const)}
          onChoose={(fuse) => choose({ fuse: fuse === current.fuse ? null : fuse })}
        />
      </div>
      <p class="fusion-meaning">
        <strong>{chosen}</strong>: {FUSION_MEANING[chosen]}
      </p>
      {different && (
        <>
          <div class="row">
            <button type="button" class="button" onClick={preview.ask} disabled={preview.state === "asking"}>
              Preview
            </button>
            <Action
              kind="primary"
              run={async () => {
                await put("/v1/fusion", { fuse: chosen });
                choose({ fuse: null });
                reload();
              }}
              done={`Queries now share jobs by: ${chosen}`}
              ask={{
                title: `Let queries share jobs by "${chosen}" instead of "${current.fuse}"?`,
                text: <PreviewWords preview={preview.preview} />,
                yes: "Switch",
              }}
            >
              Switch to {chosen}
            </Action>
          </div>
          <PreviewView of={preview} />
        </>
      )}
    </div>
  );
}
