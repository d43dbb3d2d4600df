/** Small marks: the class of something, the state of a query. */

import type { CSSProperties } from "preact";
import { classColour } from "../lib/colours";
import { queryPath, streamPath } from "../lib/router";

/** Settings of CSS variables for an element, which TypeScript does not know. */
export const cssVariables = (variables: Record<string, string>): CSSProperties => variables as CSSProperties;

/** A class by its name and colour. */
export function ClassMark({ name }: { name: string }) {
  return (
    <span class="class-mark" style={cssVariables({ "--colour": classColour(name) })}>
      <i aria-hidden="true" />
      {name}
    </span>
  );
}

const KINDS: Record<string, string> = {
  running: "good",
  ended: "",
  paused: "warn",
  suspended: "bad",
  failed: "bad",
  stopped: "",
};

/** The state of a query. */
export function StateBadge({ state }: { state: string }) {
  return <span class={`badge ${KINDS[state] ?? ""}`}>{state}</span>;
}

export const QueryLink = ({ name }: { name: string }) => <a href={queryPath(name)}>{name}</a>;
export const StreamLink = ({ name }: { name: string }) => <a href={streamPath(name)}>{name}</a>;
