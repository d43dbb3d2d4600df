/** Lines of the journal, which come by asking and by themselves. */

import type { JournalEntry } from "../../../api/types";

export const keyOf = (line: JournalEntry): string => `${line.at} ${line.from} ${line.to} ${line.reason}`;

/** Lines without those that are there twice, the newest first. */
export function joined(lines: readonly JournalEntry[]): JournalEntry[] {
  return [...new Map(lines.map((line) => [keyOf(line), line])).values()].sort((a, b) => b.at - a.at);
}
