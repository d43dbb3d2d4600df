import type { ComponentChildren } from "preact";
import "./preview.css";

interface ChoiceProps<T extends string> {
  label: string; // what is chosen, for those who cannot see it
  value: T;
  options: readonly (readonly [T, ComponentChildren])[];
  onChoose: (value: T) => void;
}

/** A few buttons of which one is on. */
export function Choice<T extends string>({ label, value, options, onChoose }: ChoiceProps<T>) {
  return (
    <fieldset class="choice">
      <legend class="hidden-text">{label}</legend>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          class={`button ${option === value ? "on" : ""}`}
          aria-pressed={option === value}
          onClick={() => onChoose(option)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}
