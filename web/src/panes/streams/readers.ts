/** Which queries read a stream, and how far those are that read what was kept. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { withQuery } from "../../api/client";
import type { Page } from "../../api/types";
import { useAnswer } from "../../lib/polling";
import { status } from "../../live/connection";

interface Named {
  name: string;
  sql: string | null;
}

/** The queries whose SQL names the stream, other than within a text. */
export function readersOf(stream: string, queries: readonly Named[]): string[] {
  const name = stream.replace(/[^\w]/g, "\\$&");
  const named = new RegExp(`(^|[^\\w.-])${name}($|[^\\w.-])`, "i");
  return queries
    .filter(({ sql }) => named.test((sql ?? "").replace(/'(?:[^'\\]|\\.)*'/g, "''")))
    .map(({ name }) => name);
}

/** Those that read it now; asked again when a query appears or disappears. */
export function useReaders(stream: string): readonly string[] {
  const asked = useAnswer<Page<Named>>(withQuery("/v1/queries", { q: stream, limit: 1000 }));
  const queries = Object.keys(status.value?.queries ?? {}).join("\n");
  const first = useRef(queries);
  useEffect(() => {
    if (first.current !== queries) asked.reload();
    first.current = queries;
  }, [queries]);
  return useMemo(() => readersOf(stream, asked.data?.items ?? []), [stream, asked.data]);
}
