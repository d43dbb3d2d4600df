/** A stream, table, operator or query in the graph. */

import type { NetworkNode } from "../../api/types";
import { classColour } from "../../lib/colours";
import { count, duration, percent, plural, rate } from "../../lib/format";
import { queryPath, streamPath } from "../../lib/router";
import { cssVariables } from "../../ui/marks";
import type { Box } from "./layout";
import { heat } from "./scales";

export function NodeBox({ node, box }: { node: NetworkNode; box: Box }) {
  const shared = node.kind === "operator" && node.queries.length > 1;
  const address = addressOf(node);
  const style = cssVariables({
    ...place(box),
    ...(node.kind === "query" && node.class ? { "--colour": classColour(node.class) } : {}),
  });
  const inside = (
    <>
      <span class="name">
        <span class="kind">{kindOf(node)}</span> {node.text}
      </span>
      <span class="numbers">{numbers(node, shared)}</span>
    </>
  );
  const look = `node ${node.kind} heat-${heat(node.waiting)} ${shared ? "shared" : ""}`;
  return address ? (
    <a class={look} style={style} href={address} title={describe(node)}>
      {inside}
    </a>
  ) : (
    <div class={look} style={style} title={describe(node)}>
      {inside}
    </div>
  );
}

/** What is written before the name: of a query its class, for those who cannot tell colours apart. */
const kindOf = (node: NetworkNode): string =>
  (node.kind === "operator" ? node.operator : node.kind === "query" ? node.class : undefined) ?? node.kind;

/** Where a box is, as CSS. */
export const place = (box: Box): Record<string, string> => ({
  left: `${box.x}px`,
  top: `${box.y}px`,
  width: `${box.width}px`,
  height: `${box.height}px`,
});

/** The page of what a node is about: of an operator, the query that has it. */
function addressOf(node: NetworkNode): string | null {
  if (node.kind === "stream") return streamPath(node.text);
  if (node.kind === "query") return queryPath(node.text);
  return node.kind === "operator" && node.queries.length === 1 ? queryPath(node.queries[0]!) : null;
}

function numbers(node: NetworkNode, shared: boolean): string {
  if (node.kind === "table") return plural(node.queries.length, "query reads it", "queries read it");
  if (shared) return `${count(node.waiting)} wait, shared by ${node.queries.length}`;
  return `${count(node.waiting)} waiting, ${rate(node.rate)}`;
}

const NAMED = 12;

/** All that is known of a node, for the pointer that rests on it. */
export function describe(node: NetworkNode): string {
  const lines = [`${node.kind === "operator" ? (node.operator ?? "operator") : node.kind} ${node.text}`];
  if (node.kind !== "table") {
    lines.push(`${rate(node.rate)} ${node.kind === "query" ? "results" : "tuples"}, ${count(node.waiting)} waiting`);
  }
  if (node.cost !== undefined) lines.push(`cost of a tuple: ${duration(node.cost)}`);
  if (node.selectivity !== undefined) lines.push(`rows out per tuple: ${percent(node.selectivity)}`);
  if (node.class) lines.push(`class ${node.class}`);
  if (node.kind !== "query" && node.queries.length) {
    const more = node.queries.length - NAMED;
    const names = node.queries.slice(0, NAMED).join(", ");
    lines.push(`${node.queries.length > 1 ? "of" : "of query"} ${names}${more > 0 ? ` and ${more} more` : ""}`);
  }
  return lines.join("\n");
}
