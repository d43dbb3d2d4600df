/** The graph: lines as SVG, and over them the nodes, which are links and buttons. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Network } from "../../api/types";
import { classRanks } from "../../lib/colours";
import { count, rate } from "../../lib/format";
import { BlockBox, type Flow } from "./block_box";
import { blocksOf, type Folds } from "./blocks";
import { columnX, type Layout, layOut, type Path } from "./layout";
import { NodeBox } from "./node_box";
import { lineWidth } from "./scales";

const NOTHING: Flow = { rate: 0, waiting: 0 };
const LEAST_FIT = 0.8; // smaller text could not be read

interface GraphProps {
  network: Network;
  folds: Folds;
  unfolded: boolean; // large groups, too, if there are not many queries in all
  zoom: number | null; // null: as fits
  onFold: (id: string, open: boolean) => void;
}

export function Graph({ network, folds, unfolded, zoom, onFold }: GraphProps) {
  const box = useRef<HTMLElement>(null);
  const [room, setRoom] = useState(1000);
  const layout = useLayout(network, folds, unfolded);
  const flows = useMemo(() => layout.paths.map((path) => flowOf(network, path)), [layout, network]);
  const entering = useMemo(() => enteringFlows(layout.paths, flows), [layout, flows]);
  const nodes = useMemo(() => new Map(network.nodes.map((node) => [node.id, node])), [network]);
  const groups = useMemo(() => new Map(network.groups.map((group) => [group.id, group])), [network]);
  useEffect(() => {
    const observer = new ResizeObserver(() => setRoom(box.current?.clientWidth ?? 1000));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useDragging(box);
  const scale = zoom ?? Math.min(1, Math.max(LEAST_FIT, room / layout.width));
  return (
    <section
      class="network-box"
      ref={box}
      aria-label="Network of operators"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      <div style={{ width: `${layout.width * scale}px`, height: `${layout.height * scale}px` }}>
        <div
          class="network-sheet"
          style={{ width: `${layout.width}px`, height: `${layout.height}px`, transform: `scale(${scale})` }}
        >
          <svg width={layout.width} height={layout.height} aria-hidden="true">
            {layout.paths.map((path, place) => (
              <Line key={path.id} path={path} flow={flows[place]!} />
            ))}
          </svg>
          <ColumnNames queriesX={layout.queriesX} />
          {layout.blocks.map((placed) => (
            <BlockBox
              key={placed.id}
              placed={placed}
              flow={entering.get(placed.id) ?? NOTHING}
              groups={groups}
              nodes={nodes}
              onFold={onFold}
            />
          ))}
          {layout.nodes.map((placed) => {
            const node = nodes.get(placed.id);
            return node && <NodeBox key={placed.id} node={node} box={placed} />;
          })}
        </div>
      </div>
    </section>
  );
}

function ColumnNames({ queriesX }: { queriesX: number }) {
  const names: [number, string][] = [
    [columnX(0), "Streams and tables"],
    [columnX(1), "Operators"],
    [queriesX, "Queries"],
  ];
  return (
    <>
      {names.map(([x, name]) => (
        <span key={name} class="column-name" style={{ left: `${x}px` }}>
          {name}
        </span>
      ))}
    </>
  );
}

function Line({ path, flow }: { path: Path; flow: Flow }) {
  return (
    <path d={path.d} stroke-width={lineWidth(flow.rate).toFixed(1)} class={flow.rate > 0 ? "" : "still"}>
      <title>
        {rate(flow.rate)} tuples, {count(flow.waiting)} waiting
      </title>
    </path>
  );
}

/** The layout, made anew only when something comes or goes, or is folded. */
function useLayout(network: Network, folds: Folds, unfolded: boolean): Layout {
  const ranks = classRanks.value;
  const shape = useMemo(() => shapeOf(network, folds, ranks), [network, folds, ranks]);
  return useMemo(() => {
    const rank = (name: string) => ranks.get(name) ?? ranks.size;
    return layOut(network, blocksOf(network, folds, rank, unfolded ? Number.POSITIVE_INFINITY : undefined));
  }, [shape, unfolded]);
}

function shapeOf(network: Network, folds: Folds, ranks: ReadonlyMap<string, number>): string {
  return JSON.stringify([
    network.nodes.map((node) => [node.id, node.group, node.class, node.queries]),
    network.edges.map((edge) => [edge.from, edge.to]),
    [...folds.open],
    [...folds.shut],
    [...ranks.keys()],
  ]);
}

function flowOf(network: Network, path: Path): Flow {
  const flow = { rate: 0, waiting: 0 };
  for (const number of path.edges) {
    flow.rate += network.edges[number]?.rate ?? 0;
    flow.waiting += network.edges[number]?.waiting ?? 0;
  }
  return flow;
}

/** What enters each node and each folded bar. */
function enteringFlows(paths: readonly Path[], flows: readonly Flow[]): Map<string, Flow> {
  const found = new Map<string, Flow>();
  paths.forEach(({ to }, place) => {
    const before = found.get(to) ?? NOTHING;
    const { rate, waiting } = flows[place]!;
    found.set(to, { rate: before.rate + rate, waiting: before.waiting + waiting });
  });
  return found;
}

/** Let the mouse drag what scrolls; fingers do so anyway. */
function useDragging(box: { current: HTMLElement | null }): void {
  useEffect(() => {
    const on = box.current;
    if (!on) return;
    let from: { x: number; y: number; left: number; top: number } | null = null;
    const down = (event: PointerEvent) => {
      const onNode = (event.target as Element).closest("a, button");
      if (event.pointerType !== "mouse" || event.button !== 0 || onNode) return;
      from = { x: event.clientX, y: event.clientY, left: on.scrollLeft, top: on.scrollTop };
    };
    const move = (event: PointerEvent) => {
      if (!from) return;
      on.scrollLeft = from.left - (event.clientX - from.x);
      on.scrollTop = from.top - (event.clientY - from.y);
    };
    const up = () => {
      from = null;
    };
    on.addEventListener("pointerdown", down);
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    return () => {
      on.removeEventListener("pointerdown", down);
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
    };
  }, [box]);
}
