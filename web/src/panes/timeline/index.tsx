/** The timeline: what the workers ran, what waited meanwhile, and why. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { classRanks } from "../../lib/colours";
import { clock, zone } from "../../lib/format";
import { choose, place } from "../../lib/router";
import { login } from "../../live/me";
import { ClassMark } from "../../ui/marks";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { Board } from "./board";
import { DecisionPanel } from "./decision_panel";
import { viewOf } from "./moves";
import type { Bar } from "./run_store";
import { positive, RANGES, type Shown, settingsOf, shownOf } from "./shown";
import { StretchPanel } from "./stretch_panel";
import { clampSpan } from "./time_scale";
import { useRuns } from "./use_runs";
import "./timeline.css";

export default function Timeline() {
  const description = useId();
  const [shown, setShown] = useShown();
  const id = positive(place.value.query.get("run"));
  const mine = login.value.state === "in" && login.value.me.tenant !== "";
  const live = useRuns(mine, () => {
    if (store.at === 0) return id !== null || shown.end !== null || shown.span > 60 ? 0 : 1;
    if (id !== null && !store.numbered(id)) return 0;
    return viewOf(shown, live.edge()).from;
  });
  const { store, error } = live;
  const chosen = id === null ? undefined : store.numbered(id);
  const onChoose = (bar: Bar | undefined) => choose({ run: bar ? String(bar.run.id) : null });
  const hold = () => setShown({ ...shown, end: shown.end === null ? live.edge() : null });
  const view = viewOf(shown, live.edge());

  return (
    <>
      <PageHead
        title="Timeline"
        lead="What the workers ran, what waited meanwhile, and why it ran: of the last ten minutes."
      />
      {error && <ProblemBox problem={error} />}
      <Panel
        title="Runs"
        note={`${clock(view.from)} to ${clock(view.to)}, ${zone()}`}
        actions={<Controls shown={shown} setShown={setShown} hold={hold} />}
      >
        {store.at === 0 && !error && <Loading what="Asking what ran" />}
        {store.at > 0 && (
          <>
            <Board
              live={live}
              shown={shown}
              chosen={chosen}
              describedBy={description}
              onShow={setShown}
              onChoose={onChoose}
            />
            <Legend />
            <Notice
              keptFrom={store.keptFrom}
              count={store.bars.length}
              shown={shown}
              live={() => setShown({ ...shown, end: null })}
            />
          </>
        )}
      </Panel>
      <DecisionPanel id={id} bar={chosen} now={store.at} onClose={() => onChoose(undefined)} />
      {store.at > 0 && <StretchPanel store={store} view={view} id={description} onChoose={onChoose} />}
    </>
  );
}

interface ControlsProps {
  shown: Shown;
  setShown: (shown: Shown) => void;
  hold: () => void;
}

function Controls({ shown, setShown, hold }: ControlsProps) {
  const isLive = shown.end === null;
  return (
    <>
      <button type="button" class={`button live-button ${isLive ? "on" : ""}`} aria-pressed={isLive} onClick={hold}>
        {isLive ? "● Live" : "Held: go live"}
      </button>
      <fieldset class="ranges">
        <legend class="hidden-text">How much time is shown</legend>
        {RANGES.map(({ span, title }) => (
          <button
            key={span}
            type="button"
            class={`button ${shown.span === span ? "on" : ""}`}
            aria-pressed={shown.span === span}
            onClick={() => setShown({ ...shown, span })}
          >
            {title}
          </button>
        ))}
        <button
          type="button"
          class="button"
          aria-label="Show less time"
          title="Show less time (+, or the wheel)"
          onClick={() => setShown({ ...shown, span: clampSpan(shown.span / 2) })}
        >
          +
        </button>
        <button
          type="button"
          class="button"
          aria-label="Show more time"
          title="Show more time (−, or the wheel)"
          onClick={() => setShown({ ...shown, span: clampSpan(shown.span * 2) })}
        >
          −
        </button>
      </fieldset>
    </>
  );
}

function Legend() {
  return (
    <>
      <ul class="legend timeline-legend">
        {[...classRanks.value.keys()].map((name) => (
          <li key={name}>
            <ClassMark name={name} />
          </li>
        ))}
        <li>
          <i class="key cancelled" aria-hidden="true" />
          cancelled
        </li>
        <li>
          <i class="key failed" aria-hidden="true" />
          failed
        </li>
        <li>
          <i class="key running" aria-hidden="true" />
          still running
        </li>
        <li>
          <i class="key commit" aria-hidden="true" />
          being committed, the worker is free
        </li>
        <li>
          <i class="key wait" aria-hidden="true" />
          waited for a run
        </li>
        <li>
          <i class="key still" aria-hidden="true" />
          waits still
        </li>
        <li>5 · evaluates five queries</li>
        <li>zoomed out: height is a share of the time</li>
      </ul>
      <p class="quiet-text keys">
        Drag or <kbd>←</kbd> <kbd>→</kbd> to move, wheel or <kbd>+</kbd> <kbd>−</kbd> to zoom, <kbd>End</kbd> for live;
        click or <kbd>Enter</kbd> to choose a run, then <kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> for the
        next, <kbd>Esc</kbd> to leave it.
      </p>
    </>
  );
}

interface NoticeProps {
  keptFrom: number;
  count: number;
  shown: Shown;
  live: () => void;
}

/** Why the picture is empty, if it is. */
function Notice({ keptFrom, count, shown, live }: NoticeProps) {
  if (shown.end !== null && shown.end < keptFrom) {
    return (
      <div class="notice">
        This moment is no longer kept: the server keeps ten minutes.{" "}
        <button type="button" class="button" onClick={live}>
          Go live
        </button>
      </div>
    );
  }
  if (count) return null;
  return (
    <Empty title="Nothing ran lately">
      Runs appear here as soon as tuples come to a stream that a query reads: <a href="/streams">streams</a>,{" "}
      <a href="/queries">queries</a>.
    </Empty>
  );
}

/** The stretch that is shown; the address follows it, and it follows the address. */
function useShown(): [Shown, (shown: Shown) => void] {
  const { query } = place.value;
  const asked = `${query.get("at") ?? ""}|${query.get("span") ?? ""}`;
  const written = useRef(asked);
  const [shown, setShown] = useState(() => shownOf(query));
  useEffect(() => {
    if (asked === written.current) return; // we wrote it ourselves
    written.current = asked;
    setShown(shownOf(query));
  }, [asked]);
  useEffect(() => {
    const timer = window.setTimeout(() => {
      const settings = settingsOf(shown);
      const text = `${settings.at ?? ""}|${settings.span ?? ""}`;
      if (text === written.current) return;
      written.current = text;
      choose(settings);
    }, 250); // browsers refuse addresses that change too often
    return () => window.clearTimeout(timer);
  }, [shown]);
  return [shown, setShown];
}
