/** Why a result was slow: the slowest one, the newest one, or one at a moment picked on the curve. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { pathOf, withQuery } from "../../../api/client";
import type { QueryDetails, Why } from "../../../api/types";
import { clock, duration } from "../../../lib/format";
import { useAnswer } from "../../../lib/polling";
import { choose, place } from "../../../lib/router";
import { status } from "../../../live/connection";
import { Panel } from "../../../ui/panel";
import { Loading, ProblemBox } from "../../../ui/problem_box";
import { useCurve } from "./curve";
import { slowest } from "./curve_numbers";
import { Explanation } from "./explanation";
import { LatencyPanel } from "./latency_panel";

type Which = { of: "worst" | "last" } | { at: number };

/** Which result is asked about: as the address says. */
function whichNow(): Which {
  const { query } = place.value;
  const at = Number(query.get("at"));
  if (query.get("at") && Number.isFinite(at)) return { at };
  return { of: query.get("of") === "last" ? "last" : "worst" };
}

const SHOWN = 4;

export function WhyTab({ query, gone }: { query: QueryDetails; gone: boolean }) {
  const curve = useCurve(query.name, gone);
  const which = whichNow();
  const origin = useOrigin();
  const at = "at" in which ? which.at : null;
  const moments = useMemo(() => (curve.data ? slowest(curve.data, SHOWN) : []), [curve.data]);
  const { data, error, loading, reload } = useAnswer<Why>(whyPath(query.name, which, origin));
  const pick = (moment: number) => choose({ at: moment.toFixed(1), of: null });
  return (
    <>
      <LatencyPanel curve={curve} query={query} onPick={pick} mark={at} hint="Click a moment." />
      <Panel
        title={title(which)}
        actions={
          <button type="button" class="button small" onClick={reload}>
            Ask again
          </button>
        }
      >
        <fieldset class="row moments bare" aria-label="Which result">
          <Choice on={at === null && "of" in which && which.of === "worst"} pick={() => choose({ at: null, of: null })}>
            Slowest of ten minutes
          </Choice>
          <Choice
            on={at === null && "of" in which && which.of === "last"}
            pick={() => choose({ at: null, of: "last" })}
          >
            Newest
          </Choice>
          {moments.map((moment) => (
            <Choice key={moment.at} on={at !== null && Math.abs(at - moment.at) < 0.1} pick={() => pick(moment.at)}>
              {clock(moment.at)}: {duration(moment.seconds)}
            </Choice>
          ))}
        </fieldset>
        {loading && <Loading what="Looking into the record" />}
        <ProblemBox problem={error} retry={reload} />
        {data && <Explanation why={data} origin={origin} />}
      </Panel>
    </>
  );
}

/** When the engine began: the server reckons in seconds since then. Kept as long as it is about the same. */
function useOrigin(): number | null {
  const kept = useRef<number | null>(null);
  const { at, seconds } = status.value ?? {};
  if (at !== undefined && seconds !== undefined) {
    const origin = at - seconds;
    if (kept.current === null || Math.abs(kept.current - origin) > 1) kept.current = origin;
  }
  return kept.current;
}

function whyPath(name: string, which: Which, origin: number | null): string | null {
  const path = pathOf("queries", name, "why");
  if ("of" in which) return withQuery(path, { [which.of]: true });
  return origin === null ? null : withQuery(path, { at: `${Math.max(0, which.at - origin).toFixed(2)} s` });
}

function title(which: Which): string {
  if ("at" in which) return `Why was it slow at ${clock(which.at)}?`;
  return which.of === "last" ? "What did its newest result wait for?" : "Why was its slowest result slow?";
}

function Choice({ on, pick, children }: { on: boolean; pick: () => void; children: ComponentChildren }) {
  return (
    <button type="button" class={`button small number ${on ? "on" : ""}`} aria-pressed={on} onClick={pick}>
      {children}
    </button>
  );
}
