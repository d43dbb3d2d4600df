/** What is typed into a field, as JSON of a column's type. */

import { isDecimal, isNumeric, isText, isTime, isWhole } from "../../lib/schema";

export { localNow, localTime } from "../../lib/local_time";

export type Read = { json: string } | { error: string };

/**
 * The JSON of what is typed; an empty field is null. Numbers stay as they are typed, however long: decimals are sent as
 * text, since a number of JSON is read as a double, which holds 15 digits surely.
 */
export function readValue(typed: string, type: string): Read {
  const text = typed.trim();
  if (text === "" && !(isText(type) && typed !== "")) return { json: "null" };
  if (isWhole(type)) return /^[+-]?\d+$/.test(text) ? { json: plainNumber(text) } : { error: "is not a whole number" };
  if (isNumeric(type)) {
    const json = isDecimal(type) ? (number: string) => `"${number}"` : (number: string) => number;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)
      ? { json: json(plainNumber(text)) }
      : { error: "is not a number" };
  }
  if (/^bool/i.test(type)) {
    return /^(true|false)$/i.test(text) ? { json: text.toLowerCase() } : { error: "is not true or false" };
  }
  if (/^(array|map|struct)\b/i.test(type)) {
    try {
      JSON.parse(text); // only whether it can be read: written anew, long numbers would lose digits
      return { json: text.replace(/\s*\n\s*/g, " ") };
    } catch {
      return { error: `is not JSON, as ${/^array/i.test(type) ? "[1, 2]" : '{"a": 1}'}` };
    }
  }
  return { json: JSON.stringify(isText(type) ? typed : isTime(type) ? timeText(text) : text) };
}

/** JSON knows neither a plus before a number nor zeros or a lonely point at its ends. */
function plainNumber(text: string): string {
  const [, sign = "", whole = "", rest = ""] = /^[+]?(-?)0*(\d*)(.*)$/.exec(text) ?? [];
  const fraction = rest.replace(/^\.(?=\D|$)/, "");
  return `${sign}${whole || "0"}${fraction}`;
}

/** A time of a browser's field is in the reader's zone; others are sent as they are. */
function timeText(text: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text)) return text;
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? text : moment.toISOString();
}

/** A value of a row, as people read it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
