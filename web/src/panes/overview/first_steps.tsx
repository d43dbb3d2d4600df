import { may } from "../../live/me";
import { Empty, Panel } from "../../ui/panel";

/** What to do in an engine that has no queries yet. */
export function FirstSteps({ streams }: { streams: number }) {
  return (
    <Panel title="First steps">
      <Empty title={streams ? "There is no query yet" : "There is no stream yet"}>
        {may("submit") ? (
          <p>
            {streams ? <a href="/new">Write a query</a> : <a href="/streams?new=stream">Define a stream</a>}
            {streams ? " over the streams that are there." : ", push some rows, and then write a query over it."}
          </p>
        ) : (
          <p>Somebody with the role submit can define streams and queries; they appear here.</p>
        )}
      </Empty>
    </Panel>
  );
}
