/** What concerns the whole page: no connection, or an engine that is not ready. */

import { useEffect, useState } from "preact/hooks";
import { ago, clock, duration } from "./lib/format";
import { connection, status } from "./live/connection";

export function Banners() {
  return (
    <div aria-live="polite">
      <ConnectionBanner />
      <EngineBanner />
    </div>
  );
}

function ConnectionBanner() {
  const now = connection.value;
  const lost = now.state === "lost" ? now.since : null;
  const [, tick] = useState(0);
  useEffect(() => {
    if (lost === null) return;
    const timer = window.setInterval(() => tick((count) => count + 1), 1000);
    return () => window.clearInterval(timer);
  }, [lost]);
  if (lost === null) return null;
  return (
    <div class="banner bad">
      <strong>The server has not answered since {clock(lost)}</strong> ({ago(lost)}). What you see is from then; nothing
      is lost, and this page goes on by itself when the server is back.
    </div>
  );
}

const WORDS: Record<string, string> = {
  starting: "The engine is starting",
  restarting: "Spark has died and is being started again; rows are taken meanwhile",
  stopping: "The engine is stopping",
  stopped: "The engine has stopped",
  failed: "The engine could not be started",
};

function EngineBanner() {
  const engine = status.value?.engine;
  if (!engine || engine.state === "ready") return null;
  return (
    <div class={`banner ${engine.state === "failed" ? "bad" : ""}`}>
      <strong>{WORDS[engine.state] ?? engine.state}</strong>
      {engine.detail && `: ${engine.detail}`} (for {duration(engine.seconds)})
    </div>
  );
}
