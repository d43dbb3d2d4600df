/** Dead letters as text. */

import type { DeadLetter, Replayed } from "../../../api/types";
import { count } from "../../../lib/format";

/** What became of letters that were replayed, as `2 taken, 1 dead again, 3 left as they are`. */
export function replayedText({ taken, dead_again: again, left }: Replayed): string {
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one, 0);
  const told = [`${count(taken)} taken`];
  if (sum(again)) told.push(`${count(sum(again))} dead again (${Object.keys(again)[0]})`);
  if (sum(left)) told.push(`${count(sum(left))} left, since they are in the stream already`);
  return told.join(", ");
}

/** The reasons of some letters, each once. */
export const reasonsOf = (letters: readonly DeadLetter[]): string[] => [
  ...new Set(letters.map((letter) => letter.reason)),
];

/** Where in its stream, or streams, a letter is. */
export function placeOf({ offset, offsets }: DeadLetter): string {
  if (offset !== undefined && offset !== null) return count(offset);
  return (offsets ?? []).map(([stream, place]) => `${stream} ${count(place)}`).join(", ") || "–";
}

/** What a letter has of its row. */
export function contentOf({ text, row, values }: DeadLetter): string {
  const content = text ?? row ?? values;
  return content === undefined || content === null
    ? "–"
    : typeof content === "string"
      ? content
      : JSON.stringify(content);
}
