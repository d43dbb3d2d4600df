import { useState } from "preact/hooks";
import { queryPath, streamPath } from "../../lib/router";
import { problems, type Trouble } from "../../live/problems";
import { Panel } from "../../ui/panel";

const SHOWN = 8;

/** What is wrong now, the gravest first. */
export function ProblemsPanel() {
  const [all, setAll] = useState(false);
  const found = problems.value;
  if (!found.length) {
    return (
      <Panel title="What is wrong">
        <p class="all-well">✓ Nothing: every query runs, and every target is met.</p>
      </Panel>
    );
  }
  const shown = all ? found : found.slice(0, SHOWN);
  return (
    <Panel title="What is wrong" note={found.length > shown.length ? `${shown.length} of ${found.length}` : undefined}>
      <ul class="problems">
        {shown.map((one) => (
          <li key={one.id} class={one.grave ? "grave" : ""}>
            <span class="kind">{one.what}</span>
            <span>
              <Name of={one} /> {one.text}
            </span>
          </li>
        ))}
      </ul>
      {found.length > SHOWN && (
        <button type="button" class="button quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${found.length}`}
        </button>
      )}
    </Panel>
  );
}

/** The name of what is wrong, which leads to it. */
function Name({ of: { what, name } }: { of: Trouble }) {
  if (!name) return null;
  const address =
    what === "query"
      ? queryPath(name)
      : what === "stream"
        ? streamPath(name)
        : what === "inversion"
          ? "/inversions"
          : null;
  return address ? <a href={address}>{name}</a> : <strong>{name}</strong>;
}
