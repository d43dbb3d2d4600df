/** Times of rows and of a browser's fields, in the reader's zone. */

/** Now, as a browser's field for times has it. */
export function localNow(now = new Date()): string {
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** A time of a row in the reader's zone, with all its digits; what is no time stays as it is. */
export function localTime(text: string): string {
  const [, fraction = ""] = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const moment = new Date(text);
  if (!/^\d{4}-.*T.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(moment.getTime())) return text;
  return `${localNow(moment).replace("T", " ")}${fraction}`;
}
