import type { ClassStatus } from "../../api/types";
import { count, plural } from "../../lib/format";
import { go } from "../../lib/router";
import { status } from "../../live/connection";
import { Choice } from "../../ui/choice";
import { Field } from "../../ui/field";
import { ClassMark } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { ask } from "./asking";
import { PolicyPicker } from "./policy_picker";
import { addressOf, asksSomething, MINUTES, problemOf, type Question } from "./question";

interface FormProps {
  question: Question;
  busy: boolean;
}

/** What is to be different; all of it is in the address. */
export function QuestionForm({ question, busy }: FormProps) {
  const set = (changes: Partial<Question>) => {
    const text = addressOf({ ...question, ...changes });
    go(text ? `/what-if?${text}` : "/what-if", { replace: true });
  };
  const classes = status.value?.classes ?? {};
  const problem = problemOf(question);
  const something = asksSomething(question);
  const submit = (event: Event) => {
    event.preventDefault();
    void ask(question);
  };
  return (
    <Panel title="Question" note="it is in the address, so you can send it on">
      <form class="stack" onSubmit={submit}>
        <PolicyPicker chosen={question.policies} onChange={(policies) => set({ policies })} />
        <div class="question-grid">
          <Priorities question={question} classes={classes} set={set} />
          <Conditions question={question} classes={classes} set={set} />
        </div>
        <AddedQuery question={question} classes={Object.keys(classes)} set={set} />
        {problem && (
          <p class="bad-text" role="alert">
            {problem}
          </p>
        )}
        <div class="row">
          <button type="submit" class="button primary" disabled={busy || !something || problem !== ""}>
            Ask
          </button>
          {!something && <span class="quiet-text">Choose a policy, or something else that is to be different.</span>}
          {something && (
            <button type="button" class="button quiet" onClick={() => go("/what-if", { replace: true })}>
              Clear
            </button>
          )}
        </div>
      </form>
    </Panel>
  );
}

interface PartProps {
  question: Question;
  classes: Record<string, ClassStatus>;
  set: (changes: Partial<Question>) => void;
}

function Priorities({ question, classes, set }: PartProps) {
  const names = Object.keys(classes).sort((a, b) => classes[b]!.priority - classes[a]!.priority);
  return (
    <fieldset class="group">
      <legend>Priorities</legend>
      {names.map((name) => (
        <label key={name} class="priority-line">
          <ClassMark name={name} />
          <input
            type="number"
            min="0"
            step="any"
            placeholder={`${count(classes[name]!.priority)} as now`}
            value={question.priorities[name] ?? ""}
            onInput={(event) => set({ priorities: { ...question.priorities, [name]: event.currentTarget.value } })}
          />
        </label>
      ))}
    </fieldset>
  );
}

function Conditions({ question, classes, set }: PartProps) {
  const workers = status.value?.load?.workers ?? status.value?.workers?.length;
  return (
    <fieldset class="group conditions">
      <legend>Conditions</legend>
      <Field label="Queries that share jobs">
        <select
          value={question.fuse}
          onChange={(event) => set({ fuse: event.currentTarget.value as Question["fuse"] })}
        >
          <option value="">as recorded</option>
          <option value="off">off: none</option>
          <option value="class">class: those of one class</option>
          <option value="all">all</option>
        </select>
      </Field>
      <Field label="Tuples" hint="so many times as many, at the same times">
        <input
          type="number"
          min="0.01"
          max="1000"
          step="any"
          placeholder="1 as recorded"
          value={question.rate}
          onInput={(event) => set({ rate: event.currentTarget.value })}
        />
      </Field>
      <Field label="Workers" hint={workers ? `now ${plural(workers, "worker")}` : "runs at a time"}>
        <input
          type="number"
          min="1"
          max="1000"
          step="1"
          placeholder="as recorded"
          value={question.workers}
          onInput={(event) => set({ workers: event.currentTarget.value })}
        />
      </Field>
      <Field label="Compare by">
        <select value={question.by} onChange={(event) => set({ by: event.currentTarget.value })}>
          <option value="">targets if there are any, else the mean</option>
          {measures(Object.keys(classes)).map((measure) => (
            <option key={measure} value={measure}>
              {measure}
            </option>
          ))}
        </select>
      </Field>
      <div class="field">
        <span class="label">Record</span>
        <Choice
          label="How much of the record"
          value={question.minutes}
          options={MINUTES.map((minutes) => [minutes, `last ${minutes} min`] as const)}
          onChoose={(minutes) => set({ minutes })}
        />
        <span class="hint">less is quicker</span>
      </div>
    </fieldset>
  );
}

const measures = (classes: readonly string[]): string[] => [
  "mean",
  "p50",
  "p95",
  "targets",
  ...classes.flatMap((name) => [`${name}.mean`, `${name}.p95`]),
];

interface AddedProps {
  question: Question;
  classes: readonly string[];
  set: PartProps["set"];
}

/** One more query, as it would be submitted. */
function AddedQuery({ question, classes, set }: AddedProps) {
  return (
    <details open={question.sql !== ""}>
      <summary>Add a query that is not there</summary>
      <div class="question-grid">
        <Field label="SQL" hint="what it costs is taken from the recorded query that is most like it">
          <textarea
            rows={4}
            spellcheck={false}
            placeholder="SELECT location FROM readings WHERE humidity > 90"
            value={question.sql}
            onInput={(event) => set({ sql: event.currentTarget.value })}
          />
        </Field>
        <Field label="Its class">
          <select value={question.sqlClass} onChange={(event) => set({ sqlClass: event.currentTarget.value })}>
            <option value="">choose one</option>
            {classes.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </Field>
      </div>
    </details>
  );
}
