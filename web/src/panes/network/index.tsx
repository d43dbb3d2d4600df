/** The network: streams and tables, operators and queries as a graph, with what waits and flows. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Network } from "../../api/types";
import { classRanks } from "../../lib/colours";
import { plural, rate } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { choose, place } from "../../lib/router";
import { may } from "../../live/me";
import { cssVariables } from "../../ui/marks";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { type Folds, foldsOf, foldsText } from "./blocks";
import { filtered } from "./filter";
import { Graph } from "./graph";
import { HEAT, lineWidth, RATES } from "./scales";
import "./network.css";

const EACH = 3000; // milliseconds
const ZOOMS = { least: 0.4, most: 2, step: 1.25 };

export default function NetworkPane() {
  const { data, error, reload } = useAnswer<Network>("/v1/network", EACH);
  const { query } = place.value;
  const wanted = { class: query.get("class") ?? "", name: query.get("name") ?? "" };
  const shown = useMemo(() => data && filtered(data, wanted), [data, wanted.class, wanted.name]);
  const [folds, fold] = useFolds();
  const zoom = zoomOf(query.get("zoom"));
  const queries = shown?.nodes.filter((node) => node.kind === "query").length ?? 0;
  return (
    <>
      <PageHead
        title="Network"
        lead="How tuples flow from streams and tables through operators to queries, what waits where, and what queries share."
      />
      {error && <ProblemBox problem={error} retry={reload} />}
      {!data && !error && <Loading what="Asking for the network" />}
      {data && !data.nodes.some((node) => node.kind === "query") && <NoQueries />}
      {data && shown && data.nodes.some((node) => node.kind === "query") && (
        <Panel
          title="Graph"
          note={`${plural(queries, "query", "queries")} in ${plural(shown.groups.length, "group")}`}
          actions={<Zoom zoom={zoom} />}
        >
          <Filter wanted={wanted} />
          <Legend />
          {queries ? (
            <Graph network={shown} folds={folds} unfolded={wanted.name !== ""} zoom={zoom} onFold={fold} />
          ) : (
            <Empty title="No query is like that">
              <button type="button" class="button" onClick={() => choose({ class: null, name: null })}>
                Show all
              </button>
            </Empty>
          )}
        </Panel>
      )}
    </>
  );
}

function NoQueries() {
  return (
    <Panel title="Graph">
      <Empty title="There is no query yet">
        {may("submit") ? (
          <p>
            <a href="/new">Write a query</a>: its streams, operators and results appear here.
          </p>
        ) : (
          <p>Queries appear here with their streams and operators as soon as somebody has submitted some.</p>
        )}
      </Empty>
    </Panel>
  );
}

function Filter({ wanted }: { wanted: { class: string; name: string } }) {
  const [name, setName] = useState(wanted.name);
  useEffect(() => setName(wanted.name), [wanted.name]);
  return (
    <div class="row network-filter">
      <label>
        Class{" "}
        <select value={wanted.class} onChange={(event) => choose({ class: event.currentTarget.value })}>
          <option value="">all</option>
          {[...classRanks.value.keys()].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        Name{" "}
        <input
          type="search"
          value={name}
          placeholder="query, stream or table"
          onInput={(event) => {
            setName(event.currentTarget.value);
            choose({ name: event.currentTarget.value });
          }}
        />
      </label>
    </div>
  );
}

function Zoom({ zoom }: { zoom: number | null }) {
  const by = (factor: number) => {
    const next = Math.min(ZOOMS.most, Math.max(ZOOMS.least, (zoom ?? 1) * factor));
    choose({ zoom: next.toFixed(2) });
  };
  return (
    <>
      <button type="button" class="button" aria-label="Larger" title="Larger" onClick={() => by(ZOOMS.step)}>
        +
      </button>
      <button type="button" class="button" aria-label="Smaller" title="Smaller" onClick={() => by(1 / ZOOMS.step)}>
        −
      </button>
      <button
        type="button"
        class={`button ${zoom === null ? "on" : ""}`}
        aria-pressed={zoom === null}
        onClick={() => choose({ zoom: null })}
      >
        Fit
      </button>
    </>
  );
}

function Legend() {
  return (
    <div class="network-legend">
      <ul class="legend">
        <li>Waiting tuples:</li>
        {HEAT.map(({ text }, step) => (
          <li key={text}>
            <i class={`heat-${step}`} aria-hidden="true" />
            {text}
          </li>
        ))}
      </ul>
      <ul class="legend">
        <li>Tuples per second:</li>
        {RATES.map((one) => (
          <li key={one}>
            <i class="line" style={cssVariables({ height: `${lineWidth(one)}px` })} aria-hidden="true" />
            {rate(one)}
          </li>
        ))}
        <li>
          <i class="thick" aria-hidden="true" />
          shared by several queries
        </li>
        <li>
          <i class="framed" aria-hidden="true" />
          run together
        </li>
      </ul>
    </div>
  );
}

function zoomOf(text: string | null): number | null {
  const value = Number(text);
  return text && value >= ZOOMS.least && value <= ZOOMS.most ? value : null;
}

/** What is unfolded and folded by hand, in the address. */
function useFolds(): [Folds, (id: string, open: boolean) => void] {
  const { query } = place.value;
  const [open, shut] = [query.get("open") ?? "", query.get("shut") ?? ""];
  const folds = useMemo(() => ({ open: foldsOf(open), shut: foldsOf(shut) }), [open, shut]);
  const fold = (id: string, isOpen: boolean) => {
    const [into, outOf] = isOpen
      ? [new Set(folds.open), new Set(folds.shut)]
      : [new Set(folds.shut), new Set(folds.open)];
    const undone = outOf.delete(id); // back to what is usual
    if (!undone) into.add(id);
    choose(
      isOpen ? { open: foldsText(into), shut: foldsText(outOf) } : { open: foldsText(outOf), shut: foldsText(into) },
    );
  };
  return [folds, fold];
}
