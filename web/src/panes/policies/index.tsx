/** Policies: what exists, which decides, and switching with a preview. */

import { useEffect } from "preact/hooks";
import type { CurrentPolicy, PolicyDetails } from "../../api/deciding_types";
import { useAll } from "../../lib/all_pages";
import { useAnswer } from "../../lib/polling";
import { status } from "../../live/connection";
import type { PaneProps } from "../../panes";
import { PageHead } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { CurrentPanel } from "./current_panel";
import { PolicyList } from "./policy_list";
import { PolicyPage } from "./policy_page";
import "./policies.css";

export default function Policies({ name }: PaneProps) {
  const current = useCurrent();
  if (name) return <PolicyPage name={name} current={current.data} reload={current.reload} />;
  return <AllPolicies current={current.data} reload={current.reload} />;
}

function AllPolicies({ current, reload }: { current: CurrentPolicy | null; reload: () => void }) {
  const policies = useAll<PolicyDetails>("/v1/policies");
  return (
    <>
      <PageHead
        title="Policies"
        lead="A policy decides which query runs next whenever a worker is free. Any of these can take over while queries run; results do not change, only when they come."
      />
      {current && <CurrentPanel current={current} policies={policies.data ?? []} reload={reload} />}
      <ProblemBox problem={policies.error} retry={policies.reload} />
      {policies.loading && <Loading what="Asking which policies there are" />}
      {policies.data && <PolicyList policies={policies.data} current={current} />}
    </>
  );
}

/** The policy in force; asked again whenever the live status tells of another one. */
function useCurrent() {
  const answer = useAnswer<CurrentPolicy>("/v1/policy", 10_000);
  const { policy, policy_error } = status.value ?? {};
  useEffect(() => answer.reload(), [policy, policy_error]);
  return answer;
}
