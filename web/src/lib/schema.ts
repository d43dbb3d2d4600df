/** Columns as the server writes them: `id bigint, price decimal(10, 2), tags array<string>`. */

import type { Column } from "../api/types";

/** The columns of a schema's text; commas within types do not part them. */
export function parseSchema(text: string): Column[] {
  const found: Column[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const letter = text[at];
    if (letter === "<" || letter === "(") depth += 1;
    else if (letter === ">" || letter === ")") depth -= 1;
    else if (letter === undefined || (letter === "," && depth <= 0)) {
      const [, name, type] = /^\s*(`(?:[^`]|``)*`|\S+)\s*(.*?)\s*$/s.exec(text.slice(from, at)) ?? [];
      if (name) found.push({ name: unquoted(name), type: type ?? "" });
      from = at + 1;
    }
  }
  return found;
}

/** Columns as the text of a schema. */
export const schemaText = (columns: readonly Column[]): string =>
  columns
    .filter(({ name, type }) => name.trim() || type.trim())
    .map(({ name, type }) => `${quoted(name.trim())} ${type.trim()}`)
    .join(", ");

/** A name as SQL writes it: in backquotes if it is no plain word. */
export const quoted = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name) || name === "" ? name : `\`${name.replaceAll("`", "``")}\``;

const unquoted = (name: string): string =>
  name.startsWith("`") && name.endsWith("`") && name.length > 1 ? name.slice(1, -1).replaceAll("``", "`") : name;

export const isNumeric = (type: string): boolean =>
  /^(tiny|small|big)?int\b|^(integer|long|short|byte|double|float|real|decimal|numeric)\b/i.test(type);
export const isWhole = (type: string): boolean => /^(tiny|small|big)?int\b|^(integer|long|short|byte)\b/i.test(type);
export const isDecimal = (type: string): boolean => /^(decimal|numeric|dec)\b/i.test(type);
export const isTime = (type: string): boolean => /^timestamp/i.test(type);
export const isText = (type: string): boolean => /^(string|varchar|char)\b/i.test(type);
