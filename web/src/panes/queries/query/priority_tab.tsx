/** The priority of a query's class as a slider, which shows who would gain and who would lose before it is applied. */

import { useState } from "preact/hooks";
import { patch, pathOf } from "../../../api/client";
import type { QueryDetails } from "../../../api/types";
import { classRanks } from "../../../lib/colours";
import { count, plural } from "../../../lib/format";
import { status } from "../../../live/connection";
import { Action } from "../../../ui/action";
import { ClassMark } from "../../../ui/marks";
import { Panel } from "../../../ui/panel";
import { PreviewTable } from "../../../ui/preview";
import { ProblemBox } from "../../../ui/problem_box";
import { type SliderPreview, useSliderPreview } from "./preview";

export function PriorityTab({ query }: { query: QueryDetails }) {
  const classes = status.value?.classes ?? {};
  const own = classes[query.class];
  const [wanted, setWanted] = useState<number | null>(null);
  const now = own?.priority ?? query.priority;
  const value = wanted ?? now;
  const changed = value !== now;
  const preview = useSliderPreview(query.class, changed ? value : null);
  const top = Math.max(100, ...Object.values(classes).map((one) => one.priority * 1.5));
  const apply = async () => {
    await patch(pathOf("classes", query.class), { priority: value });
    setWanted(null);
  };
  return (
    <Panel title={`Priority of class ${query.class}`}>
      <p>
        The priority belongs to the class <ClassMark name={query.class} />
        {own && own.queries > 1 && <>: all {plural(own.queries, "query", "queries")} of it would change</>}. To change
        this query alone, move it to another class.
      </p>
      <div class="slider">
        <input
          type="range"
          aria-label={`Priority of class ${query.class}`}
          min={1}
          max={Math.round(top)}
          step={1}
          value={value}
          onInput={(event) => setWanted(Number(event.currentTarget.value))}
          onKeyDown={(event) => event.key === "Escape" && setWanted(null)}
        />
        <output class="number">
          {count(value)} {changed && <span class="quiet-text">instead of {count(now)}</span>}
        </output>
        <Action run={apply} kind="primary" done={`${query.class} has priority ${count(value)} now`} disabled={!changed}>
          Apply
        </Action>
        <button type="button" class="button" disabled={!changed} onClick={() => setWanted(null)}>
          Reset
        </button>
      </div>
      <ul class="legend ladder" aria-label="Priorities of all classes">
        {[...classRanks.value.keys()].map((name) => (
          <li key={name}>
            <ClassMark name={name} />{" "}
            <span class="number">{count(name === query.class ? value : classes[name]?.priority)}</span>
          </li>
        ))}
      </ul>
      <div aria-live="polite">{changed ? <Outcome preview={preview} wanted={value} /> : <Idle />}</div>
    </Panel>
  );
}

const Idle = () => <p class="quiet-text">Move the slider to see who would gain and who would lose by it.</p>;

function Outcome({ preview, wanted }: { preview: SliderPreview; wanted: number }) {
  const old = preview.value !== wanted;
  return (
    <div class="stack">
      {preview.busy && (
        <p class="notice">The server is answering another question of this kind; this one is asked again by itself.</p>
      )}
      {!old && <ProblemBox problem={preview.problem} />}
      {!old && preview.problem?.detail.includes("too short") && (
        <p class="quiet-text">You can apply the change all the same, without knowing what it would lead to.</p>
      )}
      {preview.answer ? (
        <section class={old ? "outdated" : ""} aria-busy={old}>
          <h3>
            With priority {count(preview.value)}
            {old && `; ${count(wanted)} is being computed …`}
          </h3>
          <PreviewTable preview={preview.answer} />
        </section>
      ) : (
        old && !preview.busy && <p class="quiet-text">Replaying the last minute with priority {count(wanted)} …</p>
      )}
    </div>
  );
}
