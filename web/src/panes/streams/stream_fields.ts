import type { Problem } from "../../api/client";

const FIELDS: readonly [field: string, words: RegExp][] = [
  ["event_time", /\bevent time\b/i],
  ["schema", /\bcolumn\b|\bschema\b|\btype\b/i],
  ["source", /\bsource\b|--allow-|\bthe (path|address)\b|\brate\b/i],
  ["name", /\bname of\b|\bis not a name\b|\bdeclared\b|already|\bstream '/i],
];
const NAMED = new Set(["name", "schema", "event_time", "watermark", "ahead", "source"]);

/** The field of the form that a refusal is about: by the place that it names, else by its words; "" if by none. */
export function fieldOf(problem: Pick<Problem, "where" | "detail">): string {
  const place = problem.where.split(/[.[ ,]/)[0]!;
  if (NAMED.has(place)) return place;
  return FIELDS.find(([, words]) => words.test(problem.detail))?.[0] ?? "";
}
