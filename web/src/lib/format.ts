/** Numbers and times as people read them: with units, and no more digits than mean something. */

const MINUS = "−";

/** A duration given in seconds, as `340 ms`, `2.1 s` or `3 min 5 s`; a dash if it is unknown. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0) return MINUS + duration(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${Math.max(1, Math.round(seconds * 1e6))} µs`;
  if (seconds < 0.9995) return `${digits(seconds * 1000)} ms`;
  if (seconds < 99.5) return `${digits(seconds)} s`;
  if (seconds < 5940) return pair(seconds / 60, "min", 60, "s");
  if (seconds < 172_800) return pair(seconds / 3600, "h", 60, "min");
  return pair(seconds / 86_400, "d", 24, "h");
}

/** A count, as `950`, `12.3 k` or `4.1 M`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size < 10_000) return Number.isInteger(value) || size >= 999.5 ? grouped(Math.round(value)) : digits(value);
  if (size < 999_500) return `${digits(value / 1e3)} k`;
  if (size < 999_500_000) return `${digits(value / 1e6)} M`;
  return `${digits(value / 1e9)} G`;
}

/** A rate given per second, as `12 /s`. */
export const rate = (perSecond: number | null | undefined): string =>
  perSecond === null || perSecond === undefined ? "–" : `${count(perSecond)} /s`;

/** A share of one, as `81 %`. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 9.95 ? value.toFixed(1) : Math.round(value)} %`.replace("-", MINUS);
}

/** A size, as `1.2 MB`. */
export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = size;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? grouped(value) : digits(value)} ${units[unit]}`;
}

/** `1 query`, `5 queries`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** A moment (seconds since 1970) in the reader's zone, as `14:05:09`; with the day if it is not today's. */
export function clock(moment: number | null | undefined, now = Date.now() / 1000): string {
  if (moment === null || moment === undefined) return "–";
  const time = new Date(moment * 1000);
  const sameDay = time.toDateString() === new Date(now * 1000).toDateString();
  return sameDay ? CLOCK.format(time) : `${DAY.format(time)} ${CLOCK.format(time)}`;
}

/** How long ago a moment was, as `12 s ago`. */
export const ago = (moment: number | null | undefined, now = Date.now() / 1000): string =>
  moment === null || moment === undefined ? "–" : `${duration(Math.max(0, Math.round(now - moment)))} ago`;

/** The reader's time zone, as `Europe/Berlin (UTC+01:00)`. */
export function zone(now = new Date()): string {
  const minutes = -now.getTimezoneOffset();
  const sign = minutes < 0 ? MINUS : "+";
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, "0");
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${name} (UTC${sign}${two(minutes / 60)}:${two(minutes % 60)})`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const text = value.toFixed(places);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", MINUS);
}

const grouped = (value: number): string => Math.round(value).toLocaleString("en").replace("-", MINUS);

function pair(value: number, unit: string, per: number, smaller: string): string {
  let whole = Math.floor(value);
  let rest = Math.round((value - whole) * per);
  if (rest === per) {
    whole += 1;
    rest = 0;
  }
  return rest ? `${whole} ${unit} ${rest} ${smaller}` : `${whole} ${unit}`;
}
