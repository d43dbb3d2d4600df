import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  title: string;
  note?: ComponentChildren; // small, beside the title
  actions?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

/** A part of a pane with a heading. */
export function Panel({ title, note, actions, class: more = "", children }: PanelProps) {
  const id = useId();
  return (
    <section class={`panel ${more}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note && <span class="note">{note}</span>}
        {actions && <div class="row">{actions}</div>}
      </header>
      <div class="content">{children}</div>
    </section>
  );
}

interface PageHeadProps {
  title: ComponentChildren;
  lead?: ComponentChildren; // one sentence that says what this pane shows
  actions?: ComponentChildren;
}

/** The top of a pane. */
export function PageHead({ title, lead, actions }: PageHeadProps) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      {actions && <div class="actions">{actions}</div>}
      {lead && <p class="lead">{lead}</p>}
    </div>
  );
}

/** What is shown where there is nothing yet: says what to do first. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}
