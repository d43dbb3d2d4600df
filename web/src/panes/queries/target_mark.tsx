import type { TargetStatus } from "../../api/types";
import { duration, percent } from "../../lib/format";

/** A target and whether it is met. */
export function TargetMark({ target }: { target: TargetStatus | null | undefined }) {
  if (!target) return <span class="quiet-text">none</span>;
  const [kind, word] = verdict(target);
  return (
    <span class="target-mark" title={explained(target)}>
      {target.target} <span class={`badge ${kind}`}>{word}</span>
    </span>
  );
}

function verdict(target: TargetStatus): [string, string] {
  if (target.state === "missed") return ["bad", "missed"];
  if (target.overdue) return ["bad", "overdue"];
  if (target.state === "met") return ["good", "met"];
  return ["", target.state];
}

/** What is known of a target, in words. */
export function explained(target: TargetStatus): string {
  const told = [`${percent(target.percentile)} of the results within ${duration(target.seconds)}`];
  if (target.reached !== undefined) told.push(`now within ${duration(target.reached)}`);
  if (target.missed_by) told.push(`missed by ${duration(target.missed_by)}`);
  if (target.share_met !== undefined) told.push(`${percent(target.share_met)} of the results are in time`);
  if (target.overdue) told.push("tuples that wait now are overdue");
  return told.join("; ");
}
