import type { TargetStatus } from "../../api/types";
import { duration, percent } from "../../lib/format";

interface TargetMarkProps {
  target: TargetStatus | null | undefined;
  short?: boolean; // a sign instead of a word
}

/** A target and whether it is met. */
export function TargetMark({ target, short = false }: TargetMarkProps) {
  if (!target) return <span class="quiet-text">none</span>;
  const { kind, word, sign } = verdict(target);
  if (short) {
    return (
      <span class={`badge ${kind}`} title={`${word}: ${explained(target)}`}>
        <span aria-hidden="true">{sign}</span> {target.target} <span class="hidden-text">{word}</span>
      </span>
    );
  }
  return (
    <span class="target-mark" title={explained(target)}>
      {target.target} <span class={`badge ${kind}`}>{word}</span>
    </span>
  );
}

function verdict(target: TargetStatus): { kind: string; word: string; sign: string } {
  if (target.state === "missed") return { kind: "bad", word: "missed", sign: "✗" };
  if (target.overdue) return { kind: "bad", word: "overdue", sign: "✗" };
  if (target.state === "met") return { kind: "good", word: "met", sign: "✓" };
  return { kind: "", word: target.state, sign: "–" };
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
