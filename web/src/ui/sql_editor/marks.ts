/** Where the server finds something wrong in a text, as `line 2, column 14`, and what that is in the editor. */

import type { Problem } from "../../api/client";

/** Something wrong at a place; lines and columns count from 1. */
export interface Diagnostic {
  message: string;
  line: number;
  column: number;
}

/** What a problem marks in the text; null if it does not name a place. */
export function toDiagnostic(problem: Pick<Problem, "detail" | "where"> | null): Diagnostic | null {
  const place = problem ? /line (\d+), column (\d+)/.exec(problem.where) : null;
  if (!problem || !place) return null;
  const message = problem.detail.startsWith(`${problem.where}: `)
    ? problem.detail.slice(problem.where.length + 2)
    : problem.detail;
  return { message, line: Number(place[1]), column: Number(place[2]) };
}

/** The part of a text that a diagnostic marks: the word at its place, else one character; never beyond the text. */
export function markedRange(text: string, { line, column }: Pick<Diagnostic, "line" | "column">): [number, number] {
  const lines = text.split("\n");
  const at = Math.min(Math.max(1, line), lines.length) - 1;
  const within = lines[at]!;
  const offset = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
  const place = unitsOf(within, Math.max(1, column) - 1);
  const word = /^\w+|^`[^`]*`|^'[^']*'/.exec(within.slice(place))?.[0];
  if (word) return [offset + place, offset + place + word.length];
  if (place < within.length) return [offset + place, offset + place + 1];
  return [offset + Math.max(0, place - 1), offset + place]; // at the end of a line: what is before it
}

/** The server counts characters, as an emoji once; a text here has two units for some of them. */
const unitsOf = (text: string, characters: number): number => [...text].slice(0, characters).join("").length;
