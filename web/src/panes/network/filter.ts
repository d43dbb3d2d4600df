/** The part of the network that somebody wants to see. */

import type { Network, NetworkNode } from "../../api/types";

export interface Wanted {
  class: string; // "" is all
  name: string; // a part of the name of a query, or of a stream or table that it reads
}

/** The queries that are wanted, with what they read and the operators in between. */
export function filtered(network: Network, wanted: Wanted): Network {
  const name = wanted.name.trim().toLowerCase();
  if (!wanted.class && !name) return network;
  const named = name ? namesOf(network, name) : null;
  const kept = new Set(
    network.nodes
      .filter((node) => node.kind === "query" && (!wanted.class || node.class === wanted.class))
      .filter((node) => !named || named.has(node.text))
      .map((node) => node.text),
  );
  const nodes = network.nodes
    .filter((node) => node.queries.some((query) => kept.has(query)))
    .map((node) => withQueries(node, kept));
  const ids = new Set(nodes.map((node) => node.id));
  return {
    nodes,
    edges: network.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to)),
    groups: network.groups.filter((group) => group.queries.some((query) => kept.has(query))),
  };
}

/** The queries that have a text in their name, or read something that has. */
function namesOf(network: Network, text: string): Set<string> {
  const found = network.nodes.filter((node) => node.kind !== "operator" && node.text.toLowerCase().includes(text));
  return new Set(found.flatMap((node) => node.queries));
}

const withQueries = (node: NetworkNode, kept: ReadonlySet<string>): NetworkNode =>
  node.queries.every((query) => kept.has(query))
    ? node
    : { ...node, queries: node.queries.filter((query) => kept.has(query)) };
