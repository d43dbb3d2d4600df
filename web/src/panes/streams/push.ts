/** Pushes rows piece by piece. What fails for the moment is sent again with the same key, so that no row comes twice. */

import { Problem, pathOf, request } from "../../api/client";
import { newKey } from "../../lib/keys";
import { type Kind, piecesOf, TYPES } from "./pieces";

export interface Pushed {
  accepted: number;
  rejected: number;
}

export interface Progress extends Pushed {
  name: string; // of what is pushed
  sent: number; // bytes
  of: number;
  state: "sending" | "waiting" | "done" | "failed" | "cancelled";
  problem: string; // why it waits or has failed
}

const WAITS = [1000, 2000, 4000, 8000]; // milliseconds before a piece is tried again
const TRIES = 12;

/** Push a file or a text; `tell` is called whenever something has changed. Ends when `signal` says so. */
export async function pushAll(
  stream: string,
  name: string,
  blob: Blob,
  kind: Kind,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const key = newKey();
  let now: Progress = { name, sent: 0, of: blob.size, accepted: 0, rejected: 0, state: "sending", problem: "" };
  const update = (part: Partial<Progress>) => {
    now = { ...now, ...part };
    tell(now);
  };
  update({});
  try {
    let number = 0;
    for await (const piece of piecesOf(blob, kind)) {
      const waits = (problem: string) => update({ state: "waiting", problem });
      const pushed = await pushPiece(stream, piece.data, kind, `${key}-${number}`, waits, signal);
      number += 1;
      update({
        sent: piece.end,
        accepted: now.accepted + pushed.accepted,
        rejected: now.rejected + pushed.rejected,
        state: "sending",
        problem: "",
      });
    }
    update({ state: "done" });
  } catch (error) {
    if (signal.aborted) update({ state: "cancelled" });
    else
      update({ state: "failed", problem: error instanceof Problem ? error.detail : String((error as Error).message) });
  }
}

async function pushPiece(
  stream: string,
  data: Uint8Array<ArrayBuffer>,
  kind: Kind,
  key: string,
  waits: (problem: string) => void,
  signal: AbortSignal,
): Promise<Pushed> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await request<Pushed>("POST", pathOf("streams", stream, "rows"), {
        raw: { type: TYPES[kind], data },
        headers: { "Idempotency-Key": key },
        signal,
      });
    } catch (error) {
      if (!(error instanceof Problem) || !error.passing || tries >= TRIES) throw error;
      waits(error.detail);
      await pause(WAITS[Math.min(tries, WAITS.length - 1)]!, signal);
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((go, stop) => {
    const timer = window.setTimeout(go, milliseconds);
    signal.addEventListener("abort", () => {
      window.clearTimeout(timer);
      stop(new Error("cancelled"));
    });
  });
}
