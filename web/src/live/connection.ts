/** The live connection: the status once, then its changes, as long as the page is open; it reconnects by itself. */

import { signal } from "@preact/signals";
import { merged } from "../api/merge_patch";
import type { JournalEntry, Status } from "../api/types";

export type Connection = { state: "connecting" | "live" } | { state: "lost"; since: number };

/** How everything is doing; null until the server has told it. */
export const status = signal<Status | null>(null);
export const connection = signal<Connection>({ state: "connecting" });
/** The newest lines of the journal that came while the page was open, the newest first. */
export const journal = signal<readonly JournalEntry[]>([]);
/** Counts the times that a connection came back: what was read before then may be old. */
export const reconnections = signal(0);

const EACH = 1; // seconds between two changes
const KEPT_LINES = 200;
const RETRY = [500, 1000, 2000, 4000]; // milliseconds
const HIDDEN = 10_000; // milliseconds that a hidden page still listens, so that a glance at another one costs nothing

let source: EventSource | null = null;
let tries = 0;
let timer = 0;
let resting = false;
let failed: () => void = () => {};

/** Call `tell` whenever a connection fails: an EventSource does not say why, so somebody has to ask. */
export function onFailure(tell: () => void): void {
  failed = tell;
}

/** Begin to listen; ends an earlier connection. */
export function connect(): void {
  disconnect();
  resting = false;
  document.addEventListener("visibilitychange", seen);
  const opened = new EventSource(`/v1/events?each=${EACH}`);
  source = opened;
  opened.addEventListener("state", (event) => begin(JSON.parse(event.data) as Status));
  opened.addEventListener("changes", (event) => {
    status.value = merged(status.value, JSON.parse(event.data));
  });
  opened.addEventListener("journal", (event) => {
    journal.value = [JSON.parse(event.data) as JournalEntry, ...journal.value].slice(0, KEPT_LINES);
  });
  opened.onerror = () => retry(opened);
  seen(); // a page may be opened without being looked at
}

/** Stop listening. */
export function disconnect(): void {
  document.removeEventListener("visibilitychange", seen);
  close();
}

/**
 * A hidden page does not listen. A browser has six connections to a server for all its pages together: with six pages
 * open, of which one is looked at, every further request would wait for ever.
 */
function seen(): void {
  if (document.hidden) {
    if (!source) return; // tries to connect, or rests already
    window.clearTimeout(timer);
    timer = window.setTimeout(rest, HIDDEN);
  } else if (resting) connect();
  else if (source) window.clearTimeout(timer);
}

function rest(): void {
  resting = true;
  close();
}

function close(): void {
  window.clearTimeout(timer);
  source?.close();
  source = null;
}

function begin(state: Status): void {
  if (status.value) reconnections.value += 1; // there was a connection before
  tries = 0;
  status.value = state;
  connection.value = { state: "live" };
}

/** A browser gives up when the server answers with an error, as while it restarts: so we try again ourselves. */
function retry(opened: EventSource): void {
  if (opened !== source) return;
  close();
  failed();
  if (connection.value.state !== "lost") connection.value = { state: "lost", since: Date.now() / 1000 };
  timer = window.setTimeout(connect, RETRY[Math.min(tries, RETRY.length - 1)]);
  tries += 1;
}
