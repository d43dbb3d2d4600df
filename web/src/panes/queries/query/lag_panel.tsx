import type { LatencyCurve, QueryDetails, StreamStatus } from "../../../api/types";
import { count, duration, plural, rate } from "../../../lib/format";
import { status } from "../../../live/connection";
import { QueryLink, StreamLink } from "../../../ui/marks";
import { Panel } from "../../../ui/panel";
import { meanParts } from "./curve_numbers";
import { type Input, slowestInput } from "./inputs";

/** How far behind a query is: by its own delay, and by the slowest of what it reads. */
export function LagPanel({ query, curve }: { query: QueryDetails; curve: LatencyCurve | null }) {
  const streams = status.value?.streams ?? {};
  const means = curve && meanParts(curve);
  const slowest = slowestInput(query.streams, streams);
  return (
    <Panel title="Lag" note="how far behind it is">
      <dl class="fact-list">
        <dt>Its own delay</dt>
        <dd>
          {query.waiting ? (
            <>
              <strong class="number">{duration(query.oldest_wait)}</strong>: {plural(query.waiting, "tuple")} wait for
              it, the oldest for so long
            </>
          ) : (
            "none: no tuple waits for it"
          )}
        </dd>
        {means && means.parts.window > 0 && (
          <>
            <dt>Of its windows</dt>
            <dd>
              <strong class="number">{duration(means.parts.window)}</strong> on average, until they closed
            </dd>
          </>
        )}
        <dt>Slowest input</dt>
        <dd>{slowest ? <Slowest input={slowest} query={query.name} /> : "none of its streams has a reader behind"}</dd>
        <dt>Limit</dt>
        <dd>{query.lag ? <code>{query.lag}</code> : "none"}</dd>
        {query.undelivered > 0 && (
          <>
            <dt>On the way to its sink</dt>
            <dd>{plural(query.undelivered, "result")}</dd>
          </>
        )}
      </dl>
      <h3 class="inputs-title">Inputs</h3>
      <ul class="inputs">
        {query.streams.map((name) => (
          <li key={name}>
            <StreamLink name={name} /> <InputState stream={streams[name]} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Slowest({ input: { stream, lag }, query }: { input: Input; query: string }) {
  return (
    <>
      <strong class="number">{duration(lag.oldest_wait)}</strong>: <StreamLink name={stream} />, where{" "}
      {lag.query === query ? "this query" : <QueryLink name={lag.query} />} is furthest behind by {count(lag.tuples)}{" "}
      tuples
    </>
  );
}

function InputState({ stream }: { stream: StreamStatus | undefined }) {
  if (!stream) return <span class="quiet-text">a table</span>;
  return (
    <span class="quiet-text">
      <span class="number">{rate(stream.rate)}</span>
      {stream.finished && ", finished"}
      {stream.error && <span class="bad-text"> its source has failed: {stream.error}</span>}
    </span>
  );
}
