import { useState } from "preact/hooks";
import { plural } from "../../lib/format";
import { queryPath, streamPath } from "../../lib/router";
import { type Fault, faults } from "../../live/faults";
import { Panel } from "../../ui/panel";

const TOGETHER = 4; // so many of one kind are told one by one

/** What is wrong now, the gravest first. */
export function FaultsPanel() {
  const kinds = byKind(faults.value);
  if (!kinds.length) {
    return (
      <Panel title="What is wrong">
        <p class="all-well">✓ Nothing: every query runs, and none is late.</p>
      </Panel>
    );
  }
  return (
    <Panel title="What is wrong">
      <ul class="faults">
        {kinds.map((found) => (
          <Kind key={found[0]!.kind} found={found} />
        ))}
      </ul>
    </Panel>
  );
}

/** The faults of one kind; of many, the first ones and how many more there are. */
function Kind({ found }: { found: readonly Fault[] }) {
  const [all, setAll] = useState(false);
  const shown = all || found.length <= TOGETHER ? found : found.slice(0, TOGETHER - 1);
  const more = found.length - shown.length;
  const { grave, subject, kind } = found[0]!;
  return (
    <>
      {shown.map((one) => (
        <li key={one.name} class={grave ? "grave" : ""}>
          <span class="kind">{one.subject}</span>
          <span>
            <Name of={one} /> {one.text}
          </span>
        </li>
      ))}
      {(more > 0 || all) && (
        <li class={grave ? "grave" : ""}>
          <span class="kind">{subject}</span>
          <span>
            <button type="button" class="as-link" aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? "Show fewer" : `and ${plural(more, "more", "more")} (${kind})`}
            </button>
          </span>
        </li>
      )}
    </>
  );
}

/** The name of what is wrong, which leads to it. */
function Name({ of: { subject, name, kind } }: { of: Fault }) {
  if (!name) return null;
  const address = kind === "inversion" ? "/inversions" : ADDRESSES[subject]?.(name);
  return address ? <a href={address}>{name}</a> : <strong>{name}</strong>;
}

const ADDRESSES: Partial<Record<Fault["subject"], (name: string) => string>> = {
  query: queryPath,
  stream: streamPath,
  class: () => "/classes",
};

function byKind(found: readonly Fault[]): Fault[][] {
  const kinds = new Map<string, Fault[]>();
  for (const one of found) {
    const known = kinds.get(one.kind);
    if (known) known.push(one);
    else kinds.set(one.kind, [one]);
  }
  return [...kinds.values()];
}
