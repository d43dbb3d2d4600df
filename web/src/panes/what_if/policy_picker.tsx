import { useId, useState } from "preact/hooks";
import type { PolicyDetails } from "../../api/deciding_types";
import { useAll } from "../../lib/all_pages";
import { readPolicy } from "../../lib/policy_text";
import { status } from "../../live/connection";
import { MOST_POLICIES } from "./question";

interface PickerProps {
  chosen: readonly string[];
  onChange: (policies: string[]) => void;
}

const USUAL = ["fcfs", "hnr", "mbd", "express"]; // one of each kind: no favourites, productive work, turns, waits

/** The policies that are compared. */
export function PolicyPicker({ chosen, onChange }: PickerProps) {
  const policies = useAll<PolicyDetails>("/v1/policies");
  const [text, setText] = useState("");
  const id = useId();
  const name = readPolicy(text).name;
  const known = policies.data === null || policies.data.some((policy) => policy.name === name);
  const full = chosen.length >= MOST_POLICIES;
  const add = (more: readonly string[]) => {
    onChange([...new Set([...chosen, ...more])].slice(0, MOST_POLICIES));
    setText("");
  };
  return (
    <div class="field">
      <label for={id}>Policies</label>
      <div class="row">
        {chosen.map((policy) => (
          <span key={policy} class="picked">
            {policy}
            <button
              type="button"
              aria-label={`Leave out ${policy}`}
              onClick={() => onChange(chosen.filter((other) => other !== policy))}
            >
              ×
            </button>
          </span>
        ))}
        <input
          id={id}
          type="text"
          class="policy-input"
          list={`${id}-names`}
          placeholder="a name, or bsd, clusters=12"
          value={text}
          disabled={full}
          aria-describedby={`${id}-hint`}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !text.trim()) return;
            event.preventDefault();
            if (known) add([text.trim()]);
          }}
        />
        <datalist id={`${id}-names`}>
          {policies.data?.map((policy) => (
            <option key={policy.name} value={policy.name}>
              {policy.rule}
            </option>
          ))}
        </datalist>
        <button
          type="button"
          class="button"
          disabled={full || !text.trim() || !known}
          onClick={() => add([text.trim()])}
        >
          Add
        </button>
        {!chosen.length && (
          <button type="button" class="button quiet" onClick={() => add(USUAL)}>
            Add {USUAL.join(", ")}
          </button>
        )}
      </div>
      <span class="hint" id={`${id}-hint`}>
        {full
          ? `${MOST_POLICIES} at most.`
          : `Without one, the recorded policy (${status.value?.policy ?? "?"}) is asked about the rest.`}{" "}
        Policies of single operators cannot be judged by an engine's record; many have the setting level=query.
      </span>
      {text.trim() && !known && (
        <span class="error" role="alert">
          There is no policy {name}; <a href="/policies">these are there</a>.
        </span>
      )}
    </div>
  );
}
