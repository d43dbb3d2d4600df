/**
 * Where everything is drawn: streams and tables on the left, operators by how far they are from them, queries on the
 * right; blocks under each other. It depends on what there is and what is folded, and not on what flows or waits, so
 * that nothing moves while numbers change.
 */

import type { Network, NetworkNode } from "../../api/types";
import { type Block, compare, type Group } from "./blocks";

export const NODE = { width: 162, height: 42 };
export const ROW = 50;
export const TOP = 28; // for the names of columns
const FIRST_GAP = 72; // between streams and operators, where most lines bend
const GAP = 44; // between other columns
const SIGHT = 3 * ROW; // how far below the first of its queries a shared operator may be, to be seen with it
const FOLDED_COLUMNS = 3; // folded bars need some width for their text
const BLOCK_GAP = 14;
const FRAME = 8; // around the nodes of a group
const LABEL = 26; // the heading of a group
const PORT = 8; // between lines that enter the same node

export interface Box {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedBlock extends Box {
  block: Block;
}

export interface Path {
  id: string;
  to: string; // a node, or a folded bar
  d: string;
  edges: number[]; // which of the network's edges it stands for
}

export interface Layout {
  width: number;
  height: number;
  queriesX: number; // where the column of queries begins
  nodes: Box[];
  blocks: PlacedBlock[]; // frames of groups, folded bars, headings
  paths: Path[];
}

export function layOut(network: Network, blocks: readonly Block[]): Layout {
  const depths = depthsOf(network);
  const open = blocks.flatMap((block) => (block.kind === "open" ? block.group.operators : []));
  const deepest = Math.max(0, ...open.map((node) => depths.get(node.id) ?? 1));
  const last = Math.max(deepest + 1, open.length < depths.size / 2 ? FOLDED_COLUMNS : 1);
  const boxes = new Map<string, Box>();
  const placed: PlacedBlock[] = [];
  let top = TOP;
  for (const block of blocks) {
    const height = placeBlock(block, top, { last, depths, boxes, placed });
    top += height + BLOCK_GAP;
  }
  const folded = foldedNodes(blocks);
  placeSources(network, boxes, placed, folded);
  const bottoms = [...boxes.values(), ...placed].map((box) => box.y + box.height);
  return {
    width: columnX(last) + NODE.width + 2 * FRAME,
    queriesX: columnX(last),
    height: Math.max(0, ...bottoms) + FRAME,
    nodes: [...boxes.values()],
    blocks: placed,
    paths: pathsOf(network, boxes, placed, folded),
  };
}

export const columnX = (column: number): number =>
  FRAME + column * (NODE.width + GAP) + (column > 0 ? FIRST_GAP - GAP : 0);

/** How many operators the longest way from a stream has, up to and with each node. */
export function depthsOf(network: Network): Map<string, number> {
  const kinds = new Map(network.nodes.map((node) => [node.id, node.kind]));
  const inputs = new Map<string, string[]>();
  for (const edge of network.edges) {
    const known = inputs.get(edge.to);
    if (known) known.push(edge.from);
    else inputs.set(edge.to, [edge.from]);
  }
  const depths = new Map<string, number>();
  const depthOf = (id: string): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    depths.set(id, 1); // so that a circle ends
    const below = (inputs.get(id) ?? []).filter((from) => kinds.get(from) === "operator");
    const depth = kinds.get(id) === "operator" ? 1 + Math.max(0, ...below.map(depthOf)) : 0;
    depths.set(id, depth);
    return depth;
  };
  for (const node of network.nodes) depthOf(node.id);
  return depths;
}

interface Sheet {
  last: number; // the column of the queries
  depths: ReadonlyMap<string, number>;
  boxes: Map<string, Box>;
  placed: PlacedBlock[];
}

/** Place a block with all that is in it; gives its height. */
function placeBlock(block: Block, top: number, sheet: Sheet): number {
  const x = columnX(1) - FRAME;
  const width = columnX(sheet.last) + NODE.width + FRAME - x;
  const place = (height: number) => {
    sheet.placed.push({ id: block.id, x, y: top, width, height, block });
    return height;
  };
  if (block.kind === "heading") return place(LABEL + 6);
  if (block.kind === "folded") return place(NODE.height + 2);
  const label = block.foldable ? LABEL : 0;
  const rows = placeGroup(block.group, top + FRAME + label, sheet);
  return place(rows - (ROW - NODE.height) + 2 * FRAME + label);
}

/** Place the nodes of a group; gives their height. */
function placeGroup(group: Group, top: number, sheet: Sheet): number {
  const columnOf = (node: NetworkNode) => Math.min(sheet.depths.get(node.id) ?? 1, sheet.last - 1);
  const own = new Map<string, NetworkNode[]>(); // by query and column: operators that only it uses
  const ownOf = (query: string, column: number) => own.get(`${column} ${query}`) ?? [];
  for (const node of group.operators) {
    if (node.queries.length !== 1) continue;
    const key = `${columnOf(node)} ${node.queries[0]}`;
    own.set(key, [...(own.get(key) ?? []), node]);
  }
  const put = (node: NetworkNode, column: number, y: number) =>
    sheet.boxes.set(node.id, { id: node.id, x: columnX(column), y, ...NODE });
  const middles = new Map<string, number>();
  let y = top;
  for (const query of group.queries) {
    const columns = Array.from({ length: sheet.last }, (_, column) => ownOf(query.text, column));
    const rows = Math.max(1, ...columns.map((nodes) => nodes.length));
    const middle = y + ((rows - 1) * ROW) / 2;
    columns.forEach((nodes, column) => {
      nodes.forEach((node, place) => {
        put(node, column, middle + (place - (nodes.length - 1) / 2) * ROW);
      });
    });
    put(query, sheet.last, middle);
    middles.set(query.text, middle);
    y += rows * ROW;
  }
  const shared = group.operators.filter((node) => node.queries.length !== 1);
  const bottom = placeShared(shared, columnOf, middles, top, put, sheet, group);
  return Math.max(y, bottom) - top;
}

/** Place operators that several queries use, in the middle of these if that is not far; gives where the lowest one ends. */
function placeShared(
  shared: readonly NetworkNode[],
  columnOf: (node: NetworkNode) => number,
  middles: ReadonlyMap<string, number>,
  top: number,
  put: (node: NetworkNode, column: number, y: number) => void,
  sheet: Sheet,
  group: Group,
): number {
  const wanted = shared.map((node) => {
    const found = node.queries.map((query) => middles.get(query)).filter((one) => one !== undefined);
    return { node, column: columnOf(node), y: found.length ? Math.min(mean(found), Math.min(...found) + SIGHT) : top };
  });
  wanted.sort((a, b) => a.column - b.column || a.y - b.y || compare(a.node.id, b.node.id));
  let bottom = top;
  const taken = new Map<number, number[]>();
  for (const node of group.operators) {
    const box = sheet.boxes.get(node.id);
    if (box) taken.set(columnOf(node), [...(taken.get(columnOf(node)) ?? []), box.y]);
  }
  for (const { node, column, y } of wanted) {
    const others = taken.get(column) ?? [];
    const free = firstFree(others, y);
    taken.set(column, [...others, free]);
    put(node, column, free);
    bottom = Math.max(bottom, free + ROW);
  }
  return bottom;
}

/** The first place at or below a wanted one that overlaps none of the others. */
export function firstFree(others: readonly number[], wanted: number): number {
  let y = wanted;
  for (const other of [...others].sort((a, b) => a - b)) {
    if (other + ROW > y && other < y + ROW) y = other + ROW;
  }
  return y;
}

/** Which bar stands for a node that is folded away. */
function foldedNodes(blocks: readonly Block[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const block of blocks) {
    if (block.kind !== "folded") continue;
    for (const group of block.groups) {
      for (const node of [...group.operators, ...group.queries]) found.set(node.id, block.id);
    }
  }
  return found;
}

/** Place streams and tables on the left, each beside the first that reads it, where it is seen before scrolling. */
function placeSources(
  network: Network,
  boxes: Map<string, Box>,
  placed: readonly PlacedBlock[],
  folded: ReadonlyMap<string, string>,
): void {
  const bars = new Map(placed.map((box) => [box.id, box]));
  const first = new Map<string, number>();
  for (const edge of network.edges) {
    const bar = folded.get(edge.to);
    const box = bar === undefined ? boxes.get(edge.to) : bars.get(bar);
    if (!box) continue;
    first.set(edge.from, Math.min(box.y, first.get(edge.from) ?? box.y));
  }
  const wanted = network.nodes
    .filter((node) => node.kind === "stream" || node.kind === "table")
    .map((node) => ({ node, y: first.get(node.id) ?? TOP }))
    .sort((a, b) => a.y - b.y || compare(a.node.id, b.node.id));
  let free = TOP;
  for (const { node, y } of wanted) {
    const top = Math.max(free, y);
    boxes.set(node.id, { id: node.id, x: FRAME, y: top, ...NODE });
    free = top + ROW;
  }
}

function pathsOf(
  network: Network,
  boxes: ReadonlyMap<string, Box>,
  placed: readonly PlacedBlock[],
  folded: ReadonlyMap<string, string>,
): Path[] {
  const bars = new Map(placed.filter((box) => box.block.kind === "folded").map((box) => [box.id, box]));
  const found = new Map<string, { from: Box; to: Box; edges: number[] }>();
  network.edges.forEach((edge, number) => {
    const bar = folded.get(edge.to);
    const from = boxes.get(edge.from);
    const to = bar === undefined ? boxes.get(edge.to) : bars.get(bar);
    if (!from || !to) return; // within a folded bar
    const id = `${from.id} ${to.id}`;
    const known = found.get(id);
    if (known) known.edges.push(number);
    else found.set(id, { from, to, edges: [number] });
  });
  const entering = new Map<string, string[]>(); // by node: the lines that enter it, from top to bottom
  const ordered = [...found].sort(([a, one], [b, two]) => one.from.y - two.from.y || compare(a, b));
  for (const [id, { to }] of ordered) entering.set(to.id, [...(entering.get(to.id) ?? []), id]);
  return ordered.map(([id, { from, to, edges }]) => {
    const ports = entering.get(to.id)!;
    const port = (ports.indexOf(id) - (ports.length - 1) / 2) * Math.min(PORT, to.height / (ports.length + 1));
    return { id, to: to.id, d: curve(from, to, port), edges };
  });
}

/** A curve over the first gap between columns, and from there straight on. */
function curve(from: Box, to: Box, port: number): string {
  const x = from.x + from.width;
  const y = from.y + from.height / 2;
  const endY = to.y + to.height / 2 + port;
  const turn = Math.min(x + (from.x === columnX(0) ? FIRST_GAP : GAP) - FRAME, to.x);
  const middle = (x + turn) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${endY} ${turn} ${endY}L${to.x} ${endY}`;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
