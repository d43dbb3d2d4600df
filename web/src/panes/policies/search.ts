/** Finding policies by words, and putting them into families. */

import type { PolicyDetails } from "../../api/deciding_types";
import { familyRank, familyTitle } from "./names";

export interface Family {
  name: string;
  policies: PolicyDetails[];
}

/** Whether all words occur in what a policy says of itself. */
export function matches(policy: PolicyDetails, words: string): boolean {
  const needs = Object.entries(policy.needs).flat();
  const settings = policy.settings.flatMap((setting) => [setting.name, setting.meaning]);
  const text = [
    policy.name,
    familyTitle(policy.family),
    policy.rule,
    policy.source,
    policy.description,
    ...needs,
    ...settings,
  ]
    .join("\n")
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Policies by their families, families in a fixed order. */
export function families(policies: readonly PolicyDetails[]): Family[] {
  const found = new Map<string, PolicyDetails[]>();
  for (const policy of policies) {
    const members = found.get(policy.family);
    if (members) members.push(policy);
    else found.set(policy.family, [policy]);
  }
  return [...found]
    .map(([name, members]) => ({ name, policies: members }))
    .sort((a, b) => familyRank(a.name) - familyRank(b.name) || a.name.localeCompare(b.name));
}
