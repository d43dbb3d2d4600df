/** The frame of a group, a folded bar, or the heading over unfolded groups. */

import type { Network, NetworkNode } from "../../api/types";
import { classColour } from "../../lib/colours";
import { count, duration, plural, rate } from "../../lib/format";
import { ClassMark, cssVariables } from "../../ui/marks";
import type { Group } from "./blocks";
import type { PlacedBlock } from "./layout";
import { place } from "./node_box";
import { heat } from "./scales";

export interface Flow {
  rate: number; // tuples per second that enter
  waiting: number;
}

interface BlockBoxProps {
  placed: PlacedBlock;
  flow: Flow;
  groups: ReadonlyMap<string, Network["groups"][number]>;
  nodes: ReadonlyMap<string, NetworkNode>;
  onFold: (id: string, open: boolean) => void;
}

export function BlockBox({ placed, flow, groups, nodes, onFold }: BlockBoxProps) {
  const { block } = placed;
  const style = cssVariables({ ...place(placed), "--colour": classColour(classOf(placed)) });
  if (block.kind === "folded") {
    return (
      <button
        type="button"
        class={`folded heat-${heat(flow.waiting)}`}
        style={style}
        title={membersOf(block.groups)}
        aria-expanded={false}
        onClick={() => onFold(block.id, true)}
      >
        <span class="name">
          <span aria-hidden="true">▸ </span>
          {titleOf(block.groups, block.class)}
        </span>
        <span class="numbers">
          {count(flow.waiting)} waiting, {rate(flow.rate)}
          {block.groups.length === 1 && `, ${sharedText(block.groups[0]!)}`}, from{" "}
          {block.groups[0]!.sources.map((id) => nodes.get(id)?.text ?? id).join(", ")}
        </span>
      </button>
    );
  }
  if (block.kind === "heading") {
    return (
      <div class="heading" style={style}>
        <ClassMark name={block.class} />
        <span>
          {plural(block.groups, "group")}, {plural(block.queries, "query", "queries")}
        </span>
        <FoldButton what={`${block.groups} groups of ${block.class}`} onClick={() => onFold(block.id, false)} />
      </div>
    );
  }
  const group = groups.get(block.id);
  if (!block.foldable) return null; // one query by itself needs no frame
  return (
    <div class="frame" style={style}>
      <div class="label">
        <ClassMark name={block.group.class} />
        <span>
          {plural(block.group.queries.length, "query runs", "queries run")} together
          {group && `, ${rate(group.rate)}, oldest waits ${duration(group.oldest_wait)}`}
        </span>
        <FoldButton
          what={`the group of ${block.group.queries[0]?.text ?? block.id}`}
          onClick={() => onFold(block.id, false)}
        />
      </div>
    </div>
  );
}

const classOf = ({ block }: PlacedBlock): string => (block.kind === "open" ? block.group.class : block.class);

function FoldButton({ what, onClick }: { what: string; onClick: () => void }) {
  return (
    <button type="button" class="button quiet fold" aria-expanded={true} onClick={onClick}>
      <span aria-hidden="true">▾ </span>fold<span class="hidden-text"> {what}</span>
    </button>
  );
}

/** `37 queries of critical`, `37 queries of critical in 12 groups`. */
export function titleOf(groups: readonly Group[], name: string): string {
  const queries = groups.reduce((sum, group) => sum + group.queries.length, 0);
  const text = `${plural(queries, "query", "queries")} of ${name || "no class"}`;
  return groups.length === 1 || groups.length === queries ? text : `${text} in ${plural(groups.length, "group")}`;
}

function sharedText(group: Group): string {
  const shared = group.operators.filter((node) => node.queries.length > 1).length;
  return shared ? `run together, ${plural(shared, "operator")} shared` : "run together";
}

const NAMED = 15;

function membersOf(groups: readonly Group[]): string {
  const names = groups.flatMap((group) => group.queries.map((query) => query.text));
  const more = names.length - NAMED;
  return `Unfold: ${names.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
