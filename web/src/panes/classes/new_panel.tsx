import { useState } from "preact/hooks";
import { Problem, post } from "../../api/client";
import { choose } from "../../lib/router";
import { Field } from "../../ui/field";
import { Panel } from "../../ui/panel";
import { ProblemBox } from "../../ui/problem_box";
import { tell } from "../../ui/toasts";
import { LagField, PriorityField, TargetField } from "./fields";

/** Declaring a class. */
export function NewPanel({ reload }: { reload: () => void }) {
  const [name, setName] = useState("");
  const [priority, setPriority] = useState("30");
  const [target, setTarget] = useState("");
  const [lag, setLag] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const valid = priority.trim() !== "" && Number(priority) > 0 && Number.isFinite(Number(priority));
  const declare = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await post("/v1/classes", {
        name: name.trim(),
        priority: Number(priority),
        target: target.trim() || null,
        lag: lag.trim() || null,
      });
      tell(`Class ${name.trim()} is declared`);
      reload();
      choose({ new: null });
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
      setBusy(false);
    }
  };
  return (
    <Panel title="Declare a class" class="change-class">
      <form class="stack narrow-form" onSubmit={declare}>
        <Field label="Name" hint="Letters, digits, - and _; queries name it as their class.">
          <input type="text" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <PriorityField value={priority} onChange={setPriority} most={100} valid={valid} />
        <TargetField value={target} onChange={setTarget} />
        <LagField value={lag} onChange={setLag} />
        <ProblemBox problem={problem} />
        <div class="row">
          <button type="submit" class="button primary" disabled={busy || !name.trim() || !valid}>
            Declare
          </button>
          <button type="button" class="button" onClick={() => choose({ new: null })}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  );
}
