import type { Catalog, Readable } from "../../lib/catalog";
import { streamPath } from "../../lib/router";
import { quoted } from "../../lib/schema";
import { may } from "../../live/me";
import { Empty, Panel } from "../../ui/panel";

/** Streams and tables with their columns; a click puts a name into the SQL. */
export function SourcesPanel({ catalog, insert }: { catalog: Catalog; insert: (text: string) => void }) {
  const { readable, loading } = catalog;
  return (
    <Panel title="Streams and tables" note="A click inserts the name." class="sources">
      {!readable.length && !loading && (
        <Empty title="There is no stream yet">
          {may("submit") && <a href="/streams?new=stream">Define a stream</a>}
        </Empty>
      )}
      <div class="source-list">
        {readable.map((one) => (
          <Source key={`${one.kind} ${one.name}`} one={one} insert={insert} open={readable.length <= 6} />
        ))}
      </div>
    </Panel>
  );
}

function Source({ one, insert, open }: { one: Readable; insert: (text: string) => void; open: boolean }) {
  return (
    <details open={open}>
      <summary>
        <strong>{one.name}</strong> <span class="quiet-text">{one.kind}</span>
      </summary>
      <ul class="source-columns">
        <li>
          <button type="button" class="insert" onClick={() => insert(quoted(one.name))}>
            {quoted(one.name)}
          </button>
          {one.kind === "stream" && (
            <a href={streamPath(one.name)} class="small" aria-label={`Look at ${one.name}`}>
              look at it
            </a>
          )}
        </li>
        {one.columns.map((column) => (
          <li key={column.name}>
            <button type="button" class="insert" onClick={() => insert(quoted(column.name))}>
              {quoted(column.name)}
            </button>
            <span class="quiet-text">
              {column.type}
              {column.name === one.eventTime && ", event time"}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
