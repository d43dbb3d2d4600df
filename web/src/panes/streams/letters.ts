/** Dead letters by their reason: reasons that differ in a value alone are one. */

import type { DeadLetter } from "../../api/types";

export interface Reason {
  label: string; // with … for what differs
  part: string; // the longest part of it that all of them have
  count: number;
  newest: number; // seconds since 1970
}

const GAP = "…";

/** A reason without the values that differ from row to row. */
export function withoutValues(reason: string): string {
  return reason
    .replace(/^(column '[^']*': )(.*?)( (?:is not|does not|has|must|cannot|is)\b)/s, `$1${GAP}$3`)
    .replace(/^[\d.,]+ .*?(?= ahead of)/, GAP)
    .replace(/^late by [\d.,]+ .*$/, `late by ${GAP}`)
    .replace(/ at \d+$/, "");
}

/** The longest part of a label without gaps, to ask the server for. */
export const longestPart = (label: string): string =>
  label
    .split(GAP)
    .map((part) => part.trim())
    .reduce((best, part) => (part.length > best.length ? part : best), "");

/** How many letters there are by reason, the most frequent first. */
export function byReason(letters: readonly DeadLetter[]): Reason[] {
  const found = new Map<string, Reason>();
  for (const letter of letters) {
    const label = withoutValues(letter.reason);
    const had = found.get(label);
    if (had) found.set(label, { ...had, count: had.count + 1, newest: Math.max(had.newest, letter.arrival) });
    else found.set(label, { label, part: longestPart(label), count: 1, newest: letter.arrival });
  }
  return [...found.values()].sort((a, b) => b.count - a.count || b.newest - a.newest);
}

/** What a dead letter was, as text. */
export function content(letter: DeadLetter): string {
  if (letter.text !== null && letter.text !== undefined) return letter.text;
  if (letter.row) return JSON.stringify(letter.row);
  return letter.offset === null || letter.offset === undefined ? "" : `the tuple at offset ${letter.offset}`;
}
