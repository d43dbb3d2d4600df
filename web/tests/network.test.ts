import { describe, expect, it } from "vitest";
import type { Network, NetworkNode } from "../src/api/types";
import { type Block, blocksOf, foldsOf, foldsText, groupsOf, MANY_QUERIES } from "../src/panes/network/blocks";
import { filtered } from "../src/panes/network/filter";
import { type Box, depthsOf, firstFree, layOut, NODE, ROW } from "../src/panes/network/layout";
import { heat, lineWidth } from "../src/panes/network/scales";

const NONE = { open: new Set<string>(), shut: new Set<string>() };
const RANKS = ["critical", "normal", "background"];
const rank = (name: string) => RANKS.indexOf(name);

interface Plan {
  group: string;
  class: string;
  stream: string;
  queries: string[];
}

/** Each group: an operator that all its queries share over a stream, then an operator and the result of each query. */
function networkOf(plans: Plan[]): Network {
  const streams = [...new Set(plans.map((plan) => plan.stream))];
  const nodes: NetworkNode[] = streams.map((name) => ({
    id: `stream:${name}`,
    kind: "stream",
    text: name,
    queries: plans.filter((plan) => plan.stream === name).flatMap((plan) => plan.queries),
    waiting: 0,
    rate: 5,
  }));
  const network: Network = { nodes, edges: [], groups: [] };
  const edge = (from: string, to: string) => network.edges.push({ from, to, rate: 1, waiting: 2 });
  for (const { group, stream, queries, ...plan } of plans) {
    network.groups.push({ id: group, class: plan.class, queries, waiting: 0, oldest_wait: 0, rate: 0, runs: 0 });
    const about = { group, waiting: 0, rate: 0, text: "" };
    nodes.push({ id: `${group}:shared`, kind: "operator", operator: "select", ...about, queries });
    edge(`stream:${stream}`, `${group}:shared`);
    for (const query of queries) {
      const own = { ...about, queries: [query] };
      nodes.push({ id: `${query}:own`, kind: "operator", operator: "project", ...own });
      nodes.push({ id: `query:${query}`, kind: "query", class: plan.class, ...own, text: query });
      edge(`${group}:shared`, `${query}:own`);
      edge(`${query}:own`, `query:${query}`);
    }
  }
  return network;
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, place) => `${prefix}${place}`);
const two = () =>
  networkOf([
    { group: "g1", class: "normal", stream: "readings", queries: ["comfort"] },
    { group: "g2", class: "critical", stream: "alarms", queries: ["leak", "fire"] },
  ]);
const many = () =>
  networkOf(
    names("g", 30).map((group, place) => ({
      group,
      class: RANKS[place % 3]!,
      stream: place % 2 ? "readings" : "alarms",
      queries: names(`${group}-`, 1 + (place % 5)),
    })),
  );
const kinds = (blocks: readonly Block[]) => blocks.map((block) => `${block.kind} ${block.id}`);
const texts = (network: Network, kind: string) =>
  network.nodes.filter((node) => node.kind === kind).map((node) => node.text);

describe("groups", () => {
  it("have their operators, queries and streams", () => {
    const [, group] = groupsOf(two());
    expect(group).toMatchObject({ id: "g2", class: "critical", sources: ["stream:alarms"] });
    expect(group!.queries.map((node) => node.text)).toEqual(["fire", "leak"]);
    expect(group!.operators.length).toBe(3);
  });

  it("are of one query if it runs with no other", () => {
    const network = two();
    for (const node of network.nodes) if (node.group === "g1") delete node.group;
    const [alone] = groupsOf(network);
    expect(alone).toMatchObject({ id: "alone:comfort", class: "normal" });
  });
});

describe("blocks", () => {
  it("are open when there are few queries, the most important first", () => {
    expect(kinds(blocksOf(two(), NONE, rank))).toEqual(["open g2", "open g1"]);
  });

  it("are folded by hand, and large groups by themselves", () => {
    expect(kinds(blocksOf(two(), { ...NONE, shut: new Set(["g2"]) }, rank))).toEqual(["folded g2", "open g1"]);
    const large = networkOf([{ group: "g", class: "normal", stream: "s", queries: names("q", 20) }]);
    expect(kinds(blocksOf(large, NONE, rank))).toEqual(["folded g"]);
    expect(kinds(blocksOf(large, { ...NONE, open: new Set(["g"]) }, rank))).toEqual(["open g"]);
    expect(kinds(blocksOf(large, NONE, rank, 20))).toEqual(["open g"]);
  });

  it("are one for all groups of a class that read the same when there are many queries", () => {
    const network = many();
    expect(texts(network, "query").length).toBeGreaterThan(MANY_QUERIES);
    const blocks = blocksOf(network, NONE, rank);
    expect(blocks.length).toBe(6);
    const folded = blocks.flatMap((block) => (block.kind === "folded" ? block.groups : []));
    expect(folded.length).toBe(30);
  });

  it("are unfolded step by step", () => {
    const id = "all:critical:stream:alarms";
    const blocks = blocksOf(many(), { ...NONE, open: new Set([id, "g6"]) }, rank);
    expect(kinds(blocks).slice(0, 4)).toEqual([`heading ${id}`, "open g0", "folded g12", "folded g18"]);
    expect(kinds(blocks)).toContain("open g6");
  });

  it("are kept in addresses, whatever their names contain", () => {
    const ids = new Set(["group:a,b", "all:x:stream:ä/?&+stream:%"]);
    expect(foldsOf(foldsText(ids))).toEqual(ids);
    expect(foldsOf("")).toEqual(new Set());
    expect(foldsOf("%E0%A4%A,g1")).toEqual(new Set(["g1"]));
  });
});

describe("the layout", () => {
  const laidOut = (network: Network, folds = NONE) => layOut(network, blocksOf(network, folds, rank));
  const overlap = (a: Box, b: Box) =>
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  it("has streams on the left, operators by their depth, queries on the right", () => {
    const depths = depthsOf(two());
    expect([depths.get("stream:alarms"), depths.get("g2:shared"), depths.get("fire:own")]).toEqual([0, 1, 2]);
    const { nodes } = laidOut(two());
    const x = (id: string) => nodes.find((node) => node.id === id)!.x;
    expect(x("stream:alarms")).toBeLessThan(x("g2:shared"));
    expect(x("g2:shared")).toBeLessThan(x("fire:own"));
    expect(x("fire:own")).toBeLessThan(x("query:fire"));
    expect(x("query:comfort")).toBe(x("query:fire"));
  });

  it("puts no node over another, and all of a group into its frame", () => {
    const network = many();
    const open = new Set([...names("g", 30), ...blocksOf(network, NONE, rank).map((block) => block.id)]);
    const { nodes, blocks, width, height } = laidOut(network, { ...NONE, open });
    expect(nodes.length).toBe(network.nodes.length);
    const over = nodes.filter((one, place) => nodes.slice(place + 1).some((other) => overlap(one, other)));
    expect(over).toEqual([]);
    for (const one of nodes) {
      expect(one.x + one.width).toBeLessThanOrEqual(width);
      expect(one.y + one.height).toBeLessThanOrEqual(height);
    }
    for (const { id, ...frame } of blocks) {
      for (const node of nodes.filter((one) => network.nodes.find((known) => known.id === one.id)?.group === id)) {
        expect(node.x).toBeGreaterThan(frame.x);
        expect(node.y).toBeGreaterThan(frame.y);
        expect(node.x + NODE.width).toBeLessThan(frame.x + frame.width);
        expect(node.y + NODE.height).toBeLessThan(frame.y + frame.height);
      }
    }
  });

  it("does not change with what flows and waits", () => {
    const busy = two();
    for (const thing of [...busy.nodes, ...busy.edges]) Object.assign(thing, { waiting: 900, rate: 70 });
    expect(laidOut(busy).paths).toEqual(laidOut(two()).paths);
    expect(laidOut(busy).nodes).toEqual(laidOut(two()).nodes);
  });

  it("draws one line into a folded bar for all that enters it", () => {
    const network = many();
    const { nodes, paths, blocks } = laidOut(network);
    expect(nodes.map((node) => node.id).sort()).toEqual(["stream:alarms", "stream:readings"]);
    expect(paths.length).toBe(6);
    expect(paths.flatMap((path) => path.edges).length).toBe(30);
    expect(new Set(paths.map((path) => path.to))).toEqual(new Set(blocks.map((block) => block.id)));
  });

  it("shows a shared operator with the first of its queries, however many there are", () => {
    const large = networkOf([{ group: "g", class: "normal", stream: "s", queries: names("q", 30) }]);
    const { nodes } = laidOut(large, { ...NONE, open: new Set(["g"]) });
    const y = (id: string) => nodes.find((node) => node.id === id)!.y;
    expect(y("g:shared") - y("query:q0")).toBe(3 * ROW);
    expect(y("query:q2")).toBeLessThan(y("query:q10"));
  });

  it("ends with a circle", () => {
    const network = two();
    network.edges.push({ from: "fire:own", to: "g2:shared", rate: 0, waiting: 0 });
    expect(laidOut(network).nodes.length).toBe(network.nodes.length);
  });

  it("finds the first free place below", () => {
    expect(firstFree([], 7)).toBe(7);
    expect(firstFree([0, ROW], 10)).toBe(2 * ROW);
    expect(firstFree([3 * ROW], 0)).toBe(0);
  });
});

describe("the filter", () => {
  it("keeps the queries of a class with all that they use", () => {
    const shown = filtered(two(), { class: "critical", name: "" });
    expect(texts(shown, "query")).toEqual(["leak", "fire"]);
    expect(texts(shown, "stream")).toEqual(["alarms"]);
    expect(shown.groups.map((group) => group.id)).toEqual(["g2"]);
    const ids = new Set(shown.nodes.map((node) => node.id));
    expect(shown.edges.every((edge) => ids.has(edge.from) && ids.has(edge.to))).toBe(true);
  });

  it("keeps queries by a part of their name, or of a stream that they read", () => {
    expect(texts(filtered(two(), { class: "", name: "FIR" }), "query")).toEqual(["fire"]);
    expect(texts(filtered(two(), { class: "", name: "alarm" }), "query")).toEqual(["leak", "fire"]);
    expect(filtered(two(), { class: "", name: "no such" }).nodes).toEqual([]);
  });

  it("no longer calls an operator shared whose other queries are not shown", () => {
    const shown = filtered(two(), { class: "", name: "fire" });
    expect(shown.nodes.find((node) => node.id === "g2:shared")!.queries).toEqual(["fire"]);
  });
});

describe("scales", () => {
  it("have a step for each ten times as many waiting tuples", () => {
    expect([0, 1, 9, 10, 99, 100, 1000, 1e9].map(heat)).toEqual([0, 1, 1, 2, 2, 3, 4, 4]);
  });

  it("draw faster flows wider, within bounds", () => {
    const widths = [0, 1, 10, 1000, 1e12].map(lineWidth);
    expect([...widths].sort((a, b) => a - b)).toEqual(widths);
    expect([widths[0], widths.at(-1)]).toEqual([1, 10]);
  });
});
