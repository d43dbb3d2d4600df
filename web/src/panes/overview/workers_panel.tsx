import { classColour, classRanks } from "../../lib/colours";
import { count, percent, plural } from "../../lib/format";
import { status } from "../../live/connection";
import { Meter, type Share } from "../../ui/meter";
import { Panel } from "../../ui/panel";

/** What the workers do: how much of their time for which class, and what waits for one. */
export function WorkersPanel() {
  const now = status.value;
  if (!now?.load) return null;
  const { load, classes = {}, workers = [] } = now;
  return (
    <Panel title="Workers" note={<a href="/timeline">timeline</a>}>
      <Meter label="Share of the workers' time in the last 10 s" shares={shares(load, classes)} />
      <p>
        {plural(load.workers, "worker")}, busy {percent(load.running)} of the last 10 s;{" "}
        {load.queued ? `${count(load.queued)} wait for one` : "nothing waits for one"}.
      </p>
      <ul class="doing">
        {Array.from({ length: Math.max(load.workers, workers.length) }, (_, worker) => (
          <li key={worker}>
            <span class="worker">worker {worker}</span>
            <span>{workers[worker] || <span class="quiet-text">idle</span>}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function shares(load: { running: number; idle: number }, classes: Record<string, { load?: number }>): Share[] {
  const told = [...classRanks.value.keys()].map((name) => ({
    name,
    share: classes[name]?.load ?? 0,
    colour: classColour(name),
  }));
  return [...told, { name: "idle", share: load.idle, colour: "var(--line)" }];
}
