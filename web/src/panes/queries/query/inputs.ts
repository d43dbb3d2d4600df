/** What a query reads, and how far behind it is. */

import type { StreamStatus } from "../../../api/types";

export interface Input {
  stream: string;
  lag: NonNullable<StreamStatus["lag"]>;
}

/** The stream whose slowest reader is furthest behind. */
export function slowestInput(names: readonly string[], streams: Readonly<Record<string, StreamStatus>>): Input | null {
  let found: Input | null = null;
  for (const stream of names) {
    const lag = streams[stream]?.lag;
    if (lag && (!found || lag.oldest_wait > found.lag.oldest_wait)) found = { stream, lag };
  }
  return found;
}
