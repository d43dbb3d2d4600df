/** What a dry run says, in words. */

import type { Problem } from "../../api/client";
import type { ClassEffect, DryRunAnswer, PlanNode } from "../../api/types";
import { duration, percent, plural, rate } from "../../lib/format";

/** The streams that a plan reads, each once. */
export function streamsOf(plan: PlanNode): string[] {
  const own = plan.kind === "stream" ? [plan.text] : [];
  return [...new Set([...own, ...plan.inputs.flatMap(streamsOf)])];
}

/** What the query would cost, by what was measured of others; `tuples` come per second, null if that is unknown. */
export function costWords({ cost }: Pick<DryRunAnswer, "cost">, tuples: number | null): string {
  if (cost === "unknown") return "Unknown: nothing like it has run yet.";
  const whose = cost.in_group
    ? `as in the runs of its group (${cost.measured_of}, ${plural(cost.runs, "run")})`
    : `as in the query most like it (${cost.measured_of}, ${plural(cost.runs, "run")})`;
  const run = `A run takes about ${duration(cost.seconds_per_run)}, and ${duration(cost.seconds_per_tuple)} more for each tuple, ${whose}.`;
  const shared = cost.in_group ? " It would need no runs of its own." : "";
  if (tuples === null) return run + shared;
  const share = tuples * cost.seconds_per_tuple;
  return `${run}${shared} At the present ${rate(tuples)} its tuples take ${percent(share)} of one worker's time.`;
}

/** What a class gains or loses. */
export function effectWords(effect: ClassEffect): string {
  if (effect.change === null) return "cannot be told";
  if (effect.within_error) return "no difference that can be told";
  return `${percent(Math.abs(effect.change))} ${effect.change > 0 ? "slower" : "faster"}`;
}

const FIELDS: readonly [field: string, words: RegExp][] = [
  ["name", /\bname of a query\b|\bquery '.*' (exists|is there)|already/i],
  ["class", /\bclass\b/i],
  ["sink", /\bsink\b|may write to/i],
  ["target", /\btarget\b/i],
  ["qos", /\bQoS\b/i],
  ["lag", /\blag\b|tuples=/i],
  ["start", /cannot start|\bstart\b/i],
  ["end", /\bend\b/i],
];

/** The field of the form that a refusal is about: by the place that it names, else by its words; "" if by none. */
export function fieldOf(problem: Pick<Problem, "where" | "detail">): string {
  if (/^line \d/.test(problem.where)) return "sql";
  const place = problem.where.split(/[.[ ]/)[0]!;
  if (FIELDS.some(([field]) => field === place) || place === "sql") return place;
  return FIELDS.find(([, words]) => words.test(problem.detail))?.[0] ?? "";
}

const TYPES: Readonly<Record<string, string>> = {
  int8: "tinyint",
  int16: "smallint",
  int32: "int",
  int64: "bigint",
  bool: "boolean",
  date32: "date",
};

/** The type of a result's column in the words of SQL. */
export const typeWords = (type: string): string =>
  type
    .replace(/timestamp\[\w+(, tz=[^\]]+)?\]/g, "timestamp")
    .replace(/date32\[day\]/g, "date")
    .replace(/\b(u?int\d+|bool)\b/g, (one) => TYPES[one] ?? one);
