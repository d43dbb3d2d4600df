import { useState } from "preact/hooks";
import type { Starving } from "../../api/deciding_types";
import { duration } from "../../lib/format";
import { queryPath } from "../../lib/router";
import { ClassMark, QueryLink } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { OTHER_WORK } from "./losses";

const SHOWN = 8;

/** Queries that wait far longer than their results ever took, and what they wait behind. */
export function StarvingPanel({ starving }: { starving: readonly Starving[] }) {
  const [all, setAll] = useState(false);
  const sorted = starving.toSorted((a, b) => b.seconds - a.seconds || a.query.localeCompare(b.query));
  const shown = all ? sorted : sorted.slice(0, SHOWN);
  return (
    <Panel title="Starving queries" note="wait more than twice as long as their slowest result took">
      {starving.length === 0 ? (
        <p class="good-text">✓ None.</p>
      ) : (
        <ul class="starving">
          {shown.map((one) => (
            <li key={one.query}>
              <div class="row">
                <QueryLink name={one.query} /> <ClassMark name={one.class} />
                <span class="badge bad">waits for {duration(one.seconds)}</span>
                <a href={`${queryPath(one.query)}?tab=why`}>why?</a>
              </div>
              <div>{told(one)}</div>
              <Behind of={one} />
            </li>
          ))}
        </ul>
      )}
      {sorted.length > SHOWN && (
        <button type="button" class="button" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${sorted.length}`}
        </button>
      )}
    </Panel>
  );
}

/** The sentence, which does not say of whom it is. */
const told = ({ query, sentence }: Starving): string =>
  sentence.startsWith(query) ? sentence : `${query} ${sentence}`;

/** The queries in whose runs it waits, as links. */
function Behind({ of }: { of: Starving }) {
  const names = [...new Set(of.delays.flatMap((delay) => delay.queries ?? []))].filter(
    (name) => name !== of.query && name !== OTHER_WORK,
  );
  if (!names.length) return null;
  return (
    <div class="quiet-text">
      Behind:{" "}
      {names.slice(0, 8).map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <QueryLink name={name} />
        </span>
      ))}
      {names.length > 8 && ` and ${names.length - 8} more`}
    </div>
  );
}
