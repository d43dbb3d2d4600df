/** Buttons that change something: they wait for the answer, tell what came of it, and ask first if it matters. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { tell, tellError } from "./toasts";

interface ActionProps {
  run: () => Promise<unknown>;
  done?: string; // said when it has succeeded
  ask?: { title: string; text: ComponentChildren; yes: string }; // asked before it is done
  kind?: "primary" | "danger" | "quiet";
  disabled?: boolean;
  title?: string;
  children: ComponentChildren;
}

/** A button that sends a command. */
export function Action({ run, done, ask, kind, disabled, title, children }: ActionProps) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    if (ask && !(await confirmed(ask.title, ask.text, ask.yes))) return;
    setBusy(true);
    try {
      await run();
      if (done) tell(done);
    } catch (error) {
      tellError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class={`button ${kind ?? ""}`} disabled={disabled || busy} title={title} onClick={act}>
      {children}
    </button>
  );
}

interface Asked {
  title: string;
  text: ComponentChildren;
  yes: string;
  answer: (sure: boolean) => void;
}

const asked = signal<Asked | null>(null);

/** Ask whether something is meant; false if it is not. */
export function confirmed(title: string, text: ComponentChildren, yes: string): Promise<boolean> {
  return new Promise((answer) => {
    asked.value = { title, text, yes, answer };
  });
}

/** Where questions are shown; the page has it once. */
export function Questions() {
  const dialog = useRef<HTMLDialogElement>(null);
  const question = asked.value;
  useEffect(() => {
    if (question) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;
  const close = (sure: boolean) => {
    dialog.current?.close(); // gives the focus back to where it was
    asked.value = null;
    question.answer(sure);
  };
  return (
    <dialog ref={dialog} onCancel={() => close(false)} aria-labelledby="question">
      <h2 id="question">{question.title}</h2>
      <div>{question.text}</div>
      <div class="actions">
        <button type="button" class="button" onClick={() => close(false)}>
          Cancel
        </button>
        <button type="button" class="button danger" onClick={() => close(true)}>
          {question.yes}
        </button>
      </div>
    </dialog>
  );
}
