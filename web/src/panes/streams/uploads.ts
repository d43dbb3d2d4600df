/** What is being pushed: it goes on while something else of the page is looked at. */

import { signal } from "@preact/signals";
import type { Kind } from "./pieces";
import { type Progress, pushAll } from "./push";

export interface Upload extends Progress {
  id: number;
  stream: string;
}

const KEPT = 20;

export const uploads = signal<readonly Upload[]>([]);
const running = new Map<number, AbortController>();
let last = 0;

export const isGoing = (upload: Upload): boolean => upload.state === "sending" || upload.state === "waiting";

/** Push something; true when all of it is in the stream, or is a dead letter. */
export async function startUpload(stream: string, name: string, blob: Blob, kind: Kind): Promise<boolean> {
  last += 1;
  const id = last;
  const abort = new AbortController();
  running.set(id, abort);
  if (running.size === 1) window.addEventListener("beforeunload", askFirst);
  await pushAll(stream, name, blob, kind, (progress) => show({ ...progress, id, stream }), abort.signal);
  running.delete(id);
  if (running.size === 0) window.removeEventListener("beforeunload", askFirst);
  return uploads.value.find((one) => one.id === id)?.state === "done";
}

export const cancelUpload = (id: number): void => running.get(id)?.abort();

function show(upload: Upload): void {
  const known = uploads.value.some((one) => one.id === upload.id);
  uploads.value = known
    ? uploads.value.map((one) => (one.id === upload.id ? upload : one))
    : [upload, ...uploads.value].slice(0, KEPT);
}

/** The browser asks whether the page is to be left. */
const askFirst = (event: BeforeUnloadEvent): void => event.preventDefault();
