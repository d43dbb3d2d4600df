import { cloneElement, type VNode } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: string;
  error?: string;
  children: VNode<Record<string, unknown>>; // the input
}

/** An input with its label, a hint, and what is wrong with it. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, {
        id,
        ...(described && { "aria-describedby": described }),
        ...(error && { "aria-invalid": "true" }),
      })}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error && (
        <span class="error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}
