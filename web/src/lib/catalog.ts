/** The streams and tables that queries can read, with their columns. */

import { useEffect } from "preact/hooks";
import type { Column, Page, StreamDetails, TableDetails } from "../api/types";
import { status } from "../live/connection";
import type { Schema } from "../ui/sql_editor";
import { useAnswer } from "./polling";
import { parseSchema } from "./schema";

export interface Readable {
  name: string;
  kind: "stream" | "table";
  columns: Column[];
  eventTime: string | null;
}

export interface Catalog {
  streams: readonly StreamDetails[];
  tables: readonly TableDetails[];
  readable: readonly Readable[]; // streams, then tables
  loading: boolean;
  reload: () => void;
}

const MANY = 1000; // the most that one answer has

/** What can be read now; asked again when a stream appears or disappears. */
export function useCatalog(): Catalog {
  const streams = useAnswer<Page<StreamDetails>>(`/v1/streams?limit=${MANY}`);
  const tables = useAnswer<Page<TableDetails>>(`/v1/tables?limit=${MANY}`);
  const names = Object.keys(status.value?.streams ?? {}).join("\n");
  const reload = () => {
    streams.reload();
    tables.reload();
  };
  useEffect(() => {
    if (names && streams.data && names !== streams.data.items.map((stream) => stream.name).join("\n")) streams.reload();
  }, [names]);
  const found = { streams: streams.data?.items ?? [], tables: tables.data?.items ?? [] };
  return { ...found, readable: readableOf(found.streams, found.tables), loading: streams.loading, reload };
}

export function readableOf(streams: readonly StreamDetails[], tables: readonly TableDetails[]): Readable[] {
  return [
    ...streams.map(
      (stream): Readable => ({
        name: stream.name,
        kind: "stream",
        columns: parseSchema(stream.schema),
        eventTime: stream.event_time,
      }),
    ),
    ...tables.map(
      (table): Readable => ({ name: table.name, kind: "table", columns: parseSchema(table.schema), eventTime: null }),
    ),
  ];
}

/** What the SQL editor completes. */
export const editorSchema = (readable: readonly Readable[]): Schema =>
  Object.fromEntries(readable.map(({ name, columns }) => [name, columns]));
