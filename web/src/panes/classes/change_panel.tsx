import { useState } from "preact/hooks";
import { Problem, patch, pathOf } from "../../api/client";
import type { ClassDetails } from "../../api/types";
import { count } from "../../lib/format";
import { choose } from "../../lib/router";
import { ClassMark } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { PreviewView, usePreview } from "../../ui/preview";
import { ProblemBox } from "../../ui/problem_box";
import { tell } from "../../ui/toasts";
import { LagField, PriorityField, TargetField } from "./fields";

const SETTLED = 600; // milliseconds that a priority stays before it is previewed

interface ChangeProps {
  of: ClassDetails;
  all: readonly ClassDetails[];
  reload: () => void;
}

/** Another priority, target or lag limit of a class; a preview says who would gain and who would lose. */
export function ChangePanel({ of, all, reload }: ChangeProps) {
  const [priority, setPriority] = useState(String(of.priority));
  const [target, setTarget] = useState(of.target ?? "");
  const [lag, setLag] = useState(of.lag ?? "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const number = Number(priority);
  const valid = priority.trim() !== "" && number > 0 && Number.isFinite(number);
  const changes = {
    ...(valid && number !== of.priority && { priority: number }),
    ...(target.trim() !== (of.target ?? "") && { target: target.trim() || null }),
    ...(lag.trim() !== (of.lag ?? "") && { lag: lag.trim() || null }),
  };
  const preview = usePreview(changes.priority ? { priorities: { [of.name]: changes.priority } } : null, SETTLED);
  const close = () => choose({ change: null });
  const apply = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await patch(pathOf("classes", of.name), changes);
      tell(`Class ${of.name} is changed`);
      reload();
      close();
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel title={`Change ${of.name}`} class="change-class">
      <form class="change-form" onSubmit={apply}>
        <div class="stack">
          <PriorityField value={priority} onChange={setPriority} most={highest(all)} valid={valid} />
          <p class="quiet-text row">
            Others:{" "}
            {all
              .filter((one) => one.name !== of.name)
              .map((one) => (
                <span key={one.name} class="row">
                  <ClassMark name={one.name} /> {count(one.priority)}
                </span>
              ))}
          </p>
          <TargetField value={target} onChange={setTarget} />
          <LagField value={lag} onChange={setLag} />
          <ProblemBox problem={problem} />
          <div class="row">
            <button type="submit" class="button primary" disabled={busy || !valid || Object.keys(changes).length === 0}>
              Apply
            </button>
            <button type="button" class="button" onClick={close}>
              Close
            </button>
          </div>
        </div>
        <div>
          <h3>Who would gain, and who would lose</h3>
          {changes.priority ? (
            <PreviewView of={preview} />
          ) : (
            <p class="quiet-text">Move the priority: what that would have made of the last minute appears here.</p>
          )}
        </div>
      </form>
    </Panel>
  );
}

/** The end of the slider: twice the highest priority there is. */
const highest = (all: readonly ClassDetails[]): number => 2 * Math.max(50, ...all.map((one) => one.priority));
