/** Parts of a pane of which one is shown; which one is in the address, as `?tab=why`. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { choose, place } from "../lib/router";

export interface Tab {
  key: string; // in the address; "" for the first one
  title: ComponentChildren;
  show: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  forget?: readonly string[]; // settings of the address that belong to one tab only
}

export function Tabs({ label, tabs, forget = [] }: TabsProps) {
  const id = useId();
  const wanted = place.value.query.get("tab") ?? "";
  const now = tabs.find((tab) => tab.key === wanted) ?? tabs[0]!;
  const open = (tab: Tab) =>
    choose({ ...Object.fromEntries(forget.map((setting) => [setting, null])), tab: tab.key || null });
  const step = (event: KeyboardEvent, by: number) => {
    event.preventDefault();
    const next = tabs[(tabs.indexOf(now) + by + tabs.length) % tabs.length]!;
    open(next);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <>
      <div
        class="tabs"
        role="tablist"
        aria-label={label}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") step(event, 1);
          else if (event.key === "ArrowLeft") step(event, -1);
        }}
      >
        {tabs.map((tab) => (
          <button
            key={tab.key}
            id={`${id}-${tab.key}`}
            type="button"
            role="tab"
            aria-selected={tab === now}
            aria-controls={`${id}-panel`}
            tabIndex={tab === now ? 0 : -1}
            onClick={() => open(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div key={now.key} id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${now.key}`} class="tab-panel">
        {now.show()}
      </div>
    </>
  );
}
