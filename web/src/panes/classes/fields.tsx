/** The inputs of a class's settings. */

import { useId } from "preact/hooks";
import { Field } from "../../ui/field";

interface TextFieldProps {
  value: string;
  onChange: (value: string) => void;
}

interface PriorityFieldProps extends TextFieldProps {
  most: number;
  valid: boolean;
}

/** A priority, by a slider or as a number. */
export function PriorityField({ value, onChange, most, valid }: PriorityFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Priority</label>
      <div class="priority-inputs">
        <input
          type="range"
          aria-label="Priority, by a slider"
          min="1"
          max={most}
          step="1"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
        <input
          id={id}
          type="number"
          min="0"
          step="any"
          required
          value={value}
          aria-invalid={valid ? undefined : "true"}
          aria-describedby={`${id}-hint`}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
      <span class="hint" id={`${id}-hint`}>
        Above 0. A class of 60 is six times as important as one of 10.
      </span>
    </div>
  );
}

export const TargetField = ({ value, onChange }: TextFieldProps) => (
  <Field
    label="Target"
    hint="When results are wanted, as 500 ms or p95 2 s; for queries without a target of their own. Empty: none."
  >
    <input type="text" value={value} placeholder="none" onInput={(event) => onChange(event.currentTarget.value)} />
  </Field>
);

export const LagField = ({ value, onChange }: TextFieldProps) => (
  <Field
    label="Lag limit"
    hint="What happens when more tuples wait, as skip, tuples=100000 (what waits is skipped) or wait, tuples=100000 (sources wait). Empty: nothing is skipped."
  >
    <input type="text" value={value} placeholder="none" onInput={(event) => onChange(event.currentTarget.value)} />
  </Field>
);
