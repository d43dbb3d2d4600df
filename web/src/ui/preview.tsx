/** Who would gain and who would lose by a change, before it is made. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api/client";
import type { Change, ClassEffect, Preview } from "../api/deciding_types";
import { duration, percent } from "../lib/format";
import { changeText, PREVIEWED, previewed, previewLines } from "../lib/replays";
import { ClassMark } from "./marks";
import { ProblemBox } from "./problem_box";
import "./preview.css";

export interface Previewing {
  state: "none" | "asking" | "told" | "failed";
  since: number; // milliseconds since 1970, when it was asked
  busy: boolean; // another question is being answered first
  preview: Preview | null; // the newest answer; it stays, pale, while the next question is answered
  problem: Problem | null;
  ask: () => void;
  leave: () => void;
}

const NOTHING = { state: "none", since: 0, busy: false, preview: null, problem: null } as const;

/**
 * A preview of a change; null: nothing is to be different. It is asked by `ask`, or by itself when the change has stayed
 * the same for `settled` milliseconds. An answer to another change than the present one is not shown.
 */
export function usePreview(change: Change | null, settled?: number): Previewing {
  const key = change === null ? "" : JSON.stringify(change);
  const [now, setNow] = useState<Omit<Previewing, "ask" | "leave">>(NOTHING);
  const asking = useRef<AbortController | null>(null);

  const leave = () => {
    asking.current?.abort();
    asking.current = null;
    setNow(NOTHING);
  };
  const ask = () => {
    if (change === null) return;
    asking.current?.abort();
    const abort = new AbortController();
    asking.current = abort;
    setNow((before) => ({ ...NOTHING, state: "asking", since: Date.now(), preview: before.preview }));
    previewed(change, abort.signal, () => setNow((before) => ({ ...before, busy: true }))).then(
      (preview) => {
        if (!abort.signal.aborted) setNow({ ...NOTHING, state: "told", preview });
      },
      (error) => {
        if (abort.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        setNow({ ...NOTHING, state: "failed", problem });
      },
    );
  };

  useEffect(() => {
    leave();
    if (!key || settled === undefined) return;
    const timer = window.setTimeout(ask, settled);
    return () => window.clearTimeout(timer);
  }, [key, settled]);
  useEffect(() => () => asking.current?.abort(), []);
  return { ...now, ask, leave };
}

/** The answer, or what is being done about it. */
export function PreviewView({ of }: { of: Previewing }) {
  return (
    <div class="preview" aria-live="polite">
      {of.state === "asking" && <Waiting since={of.since} busy={of.busy} leave={of.leave} />}
      {of.state === "failed" && <ProblemBox problem={of.problem} retry={of.ask} />}
      {of.state === "told" && of.preview && <PreviewTable preview={of.preview} />}
    </div>
  );
}

/** How long a question is being answered, and a way out. */
export function Waiting({ since, busy, leave }: { since: number; busy: boolean; leave: () => void }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <p class="row">
      <progress aria-label="The record is being replayed" />
      <span class="number">
        {busy ? "Another question is being answered; this one is next" : "Replaying the record"},{" "}
        <span aria-live="off">{Math.max(0, Math.floor((now - since) / 1000))} s</span>
      </span>
      <button type="button" class="button" onClick={leave}>
        Leave it
      </button>
    </p>
  );
}

/** The classes, what becomes of them, and how far to believe it. */
export function PreviewTable({ preview }: { preview: Preview }) {
  const targets = preview.targets && preview.targets_now;
  return (
    <>
      <section
        class="table-box"
        aria-label="Who would gain and who would lose"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Change</th>
              <th
                scope="col"
                title="Mean response time of the recorded results: replayed as it was, and with the change"
              >
                Mean response
              </th>
              <th scope="col" class="right" title="How far the replay of what was recorded is off">
                Error
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(preview.classes).map(([name, one]) => (
              <tr key={name}>
                <td>
                  <ClassMark name={name} />
                </td>
                <td class="effect">
                  <EffectBadge of={one} />
                </td>
                <td class="number">
                  {duration(one.now?.mean)} → {duration(one.then?.mean)}
                </td>
                <td class="right quiet-text">± {percent(one.error)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="quiet-text">
        Mean response times, by a replay of the last {duration(PREVIEWED)}
        {targets && `; targets met: ${preview.targets!.met} of ${preview.targets!.of}, now ${preview.targets_now!.met}`}
        .
      </p>
    </>
  );
}

const EFFECTS: Record<ClassEffect["effect"], [string, string]> = {
  gains: ["good", "▲ gains"],
  loses: ["bad", "▼ loses"],
  "within the error": ["", "≈"],
  "no results": ["", "no results"],
};

function EffectBadge({ of: { effect, change } }: { of: ClassEffect }) {
  const [kind, text] = EFFECTS[effect] ?? ["", effect];
  const title = effect === "within the error" ? "within the error of the replay: it says nothing" : undefined;
  return (
    <span class={`badge ${kind}`} title={title}>
      {text} {effect === "no results" ? "" : changeText(change)}
    </span>
  );
}

/** The words of a preview, for a question that is asked before something is changed. */
export function PreviewWords({ preview }: { preview: Preview | null }) {
  if (!preview) return <p>You have not looked at a preview of who would gain and who would lose.</p>;
  return (
    <ul>
      {previewLines(preview).map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
