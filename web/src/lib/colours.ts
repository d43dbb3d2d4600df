/** Colours that people who confuse red and green can tell apart (after Okabe and Ito), in order of importance. */

import { computed } from "@preact/signals";
import { status } from "../live/connection";

export const PALETTE = 7; // how many --class-N the style sheet has

/** The place of each class by importance, the highest priority first. */
export const classRanks = computed<ReadonlyMap<string, number>>(() => {
  const classes = Object.entries(status.value?.classes ?? {});
  classes.sort(([a, one], [b, two]) => two.priority - one.priority || a.localeCompare(b));
  return new Map(classes.map(([name], rank) => [name, rank]));
});

/** The CSS variable with the colour of a class. */
export function classColour(name: string): string {
  const rank = classRanks.value.get(name);
  return rank === undefined ? "var(--class-other)" : `var(--class-${rank % PALETTE})`;
}

/** The value that a CSS variable has now, for canvases. */
export function resolved(variable: string): string {
  const name = variable.replace(/^var\(|\)$/g, "");
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}
