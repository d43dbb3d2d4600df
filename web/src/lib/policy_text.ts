/** Policies as they are written: `bsd, clusters=12`. */

export interface PolicyText {
  name: string;
  settings: Record<string, string>;
}

const OPENING = "([{";
const CLOSING = ")]}";

/** The parts between commas that are in no brackets. */
export function parts(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!;
    if (OPENING.includes(sign)) depth += 1;
    else if (CLOSING.includes(sign)) depth -= 1;
    else if (sign === "," && depth === 0) {
      found.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  found.push(text.slice(start).trim());
  return found.filter(Boolean);
}

/** The name and the settings of a policy; what is no setting is left out. */
export function readPolicy(text: string): PolicyText {
  const [name = "", ...given] = parts(text);
  return { name, settings: readSettings(given.join(", ")) };
}

/** Settings as `clusters=12, sharing=max`. */
export function readSettings(text: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const part of parts(text)) {
    const equals = part.indexOf("=");
    if (equals > 0) settings[part.slice(0, equals).trim()] = part.slice(equals + 1).trim();
  }
  return settings;
}

export const writeSettings = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .filter(([, value]) => value.trim() !== "")
    .map(([name, value]) => `${name}=${value.trim()}`)
    .join(", ");

/** A policy with its settings; those without a value are left to the policy. */
export const writePolicy = (name: string, settings: Record<string, string>): string =>
  [name, writeSettings(settings)].filter(Boolean).join(", ");

/** A setting's value as it is written in a policy. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (value === null || value === undefined) return "";
  return String(value);
}
