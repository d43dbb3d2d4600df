/** Short messages at the edge of the page: what was done, or why it was not. */

import { signal } from "@preact/signals";
import { Problem } from "../api/client";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Say something for some seconds. */
export function tell(text: string, { bad = false } = {}): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value.slice(-3), { id, text, bad }];
  window.setTimeout(() => dismiss(id), bad ? 12_000 : 5000);
}

/** Say why something failed. */
export const tellError = (error: unknown): void =>
  tell(error instanceof Problem ? error.detail : `${error}`, { bad: true });

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.bad ? "bad" : ""}`}>
          {toast.text}
        </div>
      ))}
    </div>
  );
}
