/**
 * What is drawn under each other: groups with their operators, and folded ones as a single bar.
 *
 * A group with many queries is folded. When there are many queries, all groups are, and those of a class that read the
 * same streams are one bar. Each can be unfolded, and folded again.
 */

import type { Network, NetworkNode } from "../../api/types";

export const MANY_QUERIES = 40; // in all
export const LARGE_GROUP = 8; // queries

/** Queries that run together, with their operators. */
export interface Group {
  id: string;
  class: string;
  queries: NetworkNode[];
  operators: NetworkNode[];
  sources: string[]; // ids of the streams and tables that it reads, sorted
}

export type Block =
  | { kind: "open"; id: string; group: Group; foldable: boolean }
  | { kind: "folded"; id: string; class: string; groups: Group[] }
  | { kind: "heading"; id: string; class: string; groups: number; queries: number };

/** What somebody has unfolded and folded by hand. */
export interface Folds {
  open: ReadonlySet<string>;
  shut: ReadonlySet<string>;
}

/**
 * The blocks of a network, those of important classes first; `rank` gives the place of a class, and `large` how many
 * queries of a group are few enough to be shown if there are not many in all.
 */
export function blocksOf(
  network: Network,
  folds: Folds,
  rank: (name: string) => number,
  large: number = LARGE_GROUP,
): Block[] {
  const groups = groupsOf(network).sort((a, b) => rank(a.class) - rank(b.class) || compare(a.id, b.id));
  const crowded = groups.reduce((sum, group) => sum + group.queries.length, 0) > MANY_QUERIES;
  if (!crowded) return groups.map((group) => blockOf(group, folds, group.queries.length > large));
  return [...bundled(groups)].flatMap(([id, members]) => {
    if (members.length === 1) return [blockOf(members[0]!, folds, members[0]!.queries.length > 1)];
    const name = members[0]!.class;
    if (!folds.open.has(id)) return [{ kind: "folded", id, class: name, groups: members }];
    const queries = members.reduce((sum, group) => sum + group.queries.length, 0);
    return [
      { kind: "heading", id, class: name, groups: members.length, queries },
      ...members.map((group) => blockOf(group, folds, group.queries.length > 1)),
    ];
  });
}

function blockOf(group: Group, folds: Folds, usuallyFolded: boolean): Block {
  const folded = usuallyFolded ? !folds.open.has(group.id) : folds.shut.has(group.id);
  return folded
    ? { kind: "folded", id: group.id, class: group.class, groups: [group] }
    : { kind: "open", id: group.id, group, foldable: group.queries.length > 1 };
}

/** Groups of one class that read the same. */
function bundled(groups: readonly Group[]): Map<string, Group[]> {
  const bundles = new Map<string, Group[]>();
  for (const group of groups) {
    const id = `all:${group.class}:${group.sources.join("+")}`;
    const members = bundles.get(id);
    if (members) members.push(group);
    else bundles.set(id, [group]);
  }
  return bundles;
}

/** All groups; a query that is in none, as one that is paused, is one by itself. */
export function groupsOf(network: Network): Group[] {
  const classes = new Map(network.groups.map((group) => [group.id, group.class]));
  const found = new Map<string, Group>();
  const sources = new Map(
    network.nodes.filter((node) => node.kind === "stream" || node.kind === "table").map((node) => [node.id, node]),
  );
  const owner = new Map<string, Group>();
  for (const node of network.nodes) {
    if (sources.has(node.id)) continue;
    const id = node.group ?? `alone:${node.queries[0] ?? node.id}`;
    let group = found.get(id);
    if (!group) {
      group = { id, class: classes.get(id) ?? node.class ?? "", queries: [], operators: [], sources: [] };
      found.set(id, group);
    }
    (node.kind === "query" ? group.queries : group.operators).push(node);
    if (!group.class && node.class) group.class = node.class;
    owner.set(node.id, group);
  }
  for (const edge of network.edges) {
    const group = owner.get(edge.to);
    if (group && sources.has(edge.from) && !group.sources.includes(edge.from)) group.sources.push(edge.from);
  }
  for (const group of found.values()) {
    group.sources.sort(compare);
    group.queries.sort((a, b) => names.compare(a.text, b.text) || compare(a.text, b.text));
  }
  return [...found.values()];
}

const names = new Intl.Collator("en", { numeric: true }); // q2 before q10
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The ids that an address has; what cannot be read in it is left out. */
export function foldsOf(text: string): Set<string> {
  const ids = text.split(",").map((id) => {
    try {
      return decodeURIComponent(id);
    } catch {
      return "";
    }
  });
  return new Set(ids.filter(Boolean));
}

/** Ids for an address. */
export const foldsText = (ids: ReadonlySet<string>): string => [...ids].map(encodeURIComponent).join(",");
