/** What is said about a query besides its SQL. */

import type { ClassDetails, Page } from "../../api/types";
import { useAnswer } from "../../lib/polling";
import { login, may } from "../../live/me";
import { Field } from "../../ui/field";
import { Panel } from "../../ui/panel";
import { change, type Draft, type When } from "./draft";
import { QosEditor } from "./qos_editor";

export type Errors = Partial<Record<string, string>>; // what the server says of a field

export function SettingsPanel({ draft, errors }: { draft: Draft; errors: Errors }) {
  return (
    <>
      <Panel title="How soon results are wanted">
        <Wish draft={draft} errors={errors} />
      </Panel>
      <Panel title="When, and where results go">
        <div class="form-grid">
          <Moment
            label="Start"
            none="at once"
            value={draft.start}
            error={errors.start}
            onChange={(start) => change({ start })}
          />
          <Moment label="End" none="never" value={draft.end} error={errors.end} onChange={(end) => change({ end })} />
          <SinkField draft={draft} error={errors.sink} />
          <LagField draft={draft} error={errors.lag} />
          <div class="stack whole">
            <label class="check">
              <input
                type="checkbox"
                checked={draft.kept || draft.once}
                disabled={draft.once}
                onChange={(event) => change({ kept: event.currentTarget.checked })}
              />
              Read also what the streams have kept, not only what comes from now on
            </label>
            <label class="check">
              <input
                type="checkbox"
                checked={draft.once}
                onChange={(event) => change({ once: event.currentTarget.checked })}
              />
              Once: read what is there, and end
            </label>
          </div>
        </div>
      </Panel>
    </>
  );
}

/** Name and class, which everybody thinks of first. */
export function NameAndClass({ draft, errors }: { draft: Draft; errors: Errors }) {
  const classes = useAnswer<Page<ClassDetails>>("/v1/classes?limit=1000");
  const allowed = login.value.state === "in" ? login.value.me.limits?.classes : undefined;
  const known = (classes.data?.items ?? []).filter((one) => !allowed || allowed.includes(one.name));
  const chosen = known.find((one) => one.name === draft.class);
  return (
    <div class="form-grid">
      <Field label="Name" {...(errors.name && { error: errors.name })}>
        <input
          value={draft.name}
          placeholder="as hot-machines"
          onInput={(e) => change({ name: e.currentTarget.value })}
        />
      </Field>
      <Field
        label="Class"
        hint={
          chosen
            ? `Priority ${chosen.priority}${chosen.target ? `, target ${chosen.target}` : ""}`
            : "How important it is. Without one it is in the class default."
        }
        {...(errors.class && { error: errors.class })}
      >
        <select value={draft.class} onChange={(event) => change({ class: event.currentTarget.value })}>
          <option value="">default</option>
          {draft.class && draft.class !== "default" && !chosen && <option value={draft.class}>{draft.class}</option>}
          {known
            .filter((one) => one.name !== "default")
            .map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} (priority {one.priority})
              </option>
            ))}
        </select>
      </Field>
    </div>
  );
}

function Wish({ draft, errors }: { draft: Draft; errors: Errors }) {
  return (
    <div class="stack">
      <fieldset class="choices">
        <legend class="hidden-text">How soon results are wanted</legend>
        {(
          [
            ["none", "As the class says"],
            ["target", "Within a target"],
            ["qos", "By a QoS graph"],
          ] as const
        ).map(([wish, text]) => (
          <label key={wish} class="check">
            <input type="radio" name="wish" checked={draft.wish === wish} onChange={() => change({ wish })} />
            {text}
          </label>
        ))}
      </fieldset>
      {draft.wish === "target" && (
        <Field
          label="Target"
          hint="A time, as 500 ms; of a share of results, as p99 2 s; or near a time, as 500 ms ± 20 %"
          {...(errors.target && { error: errors.target })}
        >
          <input value={draft.target} placeholder="500 ms" onInput={(e) => change({ target: e.currentTarget.value })} />
        </Field>
      )}
      {draft.wish === "qos" && (
        <>
          <p class="quiet-text">
            What a result is worth by how long it takes. Click to add a point, drag it, double-click to remove it; with
            the keyboard, Tab to a point, then the arrow keys and Delete.
          </p>
          <QosEditor points={draft.qos} onChange={(qos) => change({ qos })} />
          {errors.qos && <p class="bad-text">{errors.qos}</p>}
        </>
      )}
    </div>
  );
}

interface MomentProps {
  label: string;
  none: string;
  value: When;
  error: string | undefined;
  onChange: (value: When) => void;
}

function Moment({ label, none, value, error, onChange }: MomentProps) {
  const kinds: Record<When["kind"], When> = {
    none: { kind: "none" },
    after: { kind: "after", time: "" },
    at: { kind: "at", moment: "" },
  };
  return (
    <fieldset class="field plain">
      <legend class="label">{label}</legend>
      <div class="pair">
        <select
          aria-label={`${label}: how it is said`}
          value={value.kind}
          onChange={(event) => onChange(kinds[event.currentTarget.value as When["kind"]])}
        >
          <option value="none">{none}</option>
          <option value="after">after</option>
          <option value="at">at</option>
        </select>
        {value.kind === "after" && (
          <input
            aria-label={`${label} after`}
            placeholder="10 min"
            value={value.time}
            onInput={(event) => onChange({ kind: "after", time: event.currentTarget.value })}
          />
        )}
        {value.kind === "at" && (
          <input
            type="datetime-local"
            aria-label={`${label} at, in your zone`}
            value={value.moment}
            onInput={(event) => onChange({ kind: "at", moment: event.currentTarget.value })}
          />
        )}
      </div>
      {error && <span class="error">{error}</span>}
    </fieldset>
  );
}

const SINKS: Record<string, string> = {
  parquet: "Parquet files on the server; results can be read here",
  jsonl: "Files of JSON lines on the server; results can be read here",
  memory: "Only the newest results, in memory",
  blackhole: "Nowhere: they are counted, and dropped",
};
const SHARED_SINKS: Record<string, string> = {
  console: "The server's own output",
  table: "A table of Spark's catalog that the server may write to",
};
const SINK_SETTINGS: Record<string, string> = {
  parquet: "behind=5s",
  jsonl: "behind=5s",
  memory: "rows=1000",
  table: "name=results",
};

function SinkField({ draft, error }: { draft: Draft; error: string | undefined }) {
  const sinks = { ...SINKS, ...(may("operate", { shared: true }) && SHARED_SINKS) };
  const example = SINK_SETTINGS[draft.sink];
  return (
    <div class="stack">
      <Field label="Where results go (sink)" hint={sinks[draft.sink] ?? ""} {...(error && !example && { error })}>
        <select value={draft.sink} onChange={(event) => change({ sink: event.currentTarget.value, sinkSettings: "" })}>
          {Object.keys(sinks).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      {example && (
        <Field label="Settings of the sink" {...(error && { error })}>
          <input
            value={draft.sinkSettings}
            placeholder={`${draft.sink === "table" ? "" : "none, or "}${example}`}
            onInput={(event) => change({ sinkSettings: event.currentTarget.value })}
          />
        </Field>
      )}
    </div>
  );
}

function LagField({ draft, error }: { draft: Draft; error: string | undefined }) {
  return (
    <fieldset class="field plain">
      <legend class="label">When too many tuples wait for it</legend>
      <div class="pair">
        <select
          aria-label="What happens when too many tuples wait"
          value={draft.lag}
          onChange={(event) => change({ lag: event.currentTarget.value as Draft["lag"] })}
        >
          <option value="">as the class says</option>
          <option value="skip">skip what waits</option>
          <option value="wait">let sources wait</option>
        </select>
        {draft.lag && (
          <input
            type="number"
            min="1"
            aria-label="How many tuples may wait"
            title="How many tuples may wait"
            value={draft.lagTuples}
            onInput={(event) => change({ lagTuples: event.currentTarget.value })}
          />
        )}
      </div>
      <span class="hint">
        {draft.lag === "skip" && "Beyond so many tuples it jumps to the newest ones."}
        {draft.lag === "wait" && "Beyond so many tuples, whoever pushes rows to its streams has to wait."}
        {draft.lag === "" && "Without a limit nothing is skipped."}
      </span>
      {error && <span class="error">{error}</span>}
    </fieldset>
  );
}
