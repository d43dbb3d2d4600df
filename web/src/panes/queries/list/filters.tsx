/** What the list is filtered and sorted by: all of it is in the address. */

import type { QueryStatus } from "../../../api/types";
import { classRanks } from "../../../lib/colours";
import { choose, place } from "../../../lib/router";
import type { Sorting } from "../../../ui/data_table";
import { TROUBLED, type Wanted } from "./rows";

export const wantedNow = (): Wanted => {
  const { query } = place.value;
  return { class: query.get("class") ?? "", state: query.get("state") ?? "", text: query.get("q") ?? "" };
};

export function keepSorting({ key, down }: Sorting): void {
  const text = `${down ? "-" : ""}${key}`;
  choose({ sort: text === "name" ? null : text });
}

export const clearFilters = (): void => choose({ class: null, state: null, q: null });

export function Filters({ queries }: { queries: Readonly<Record<string, QueryStatus>> }) {
  const wanted = wantedNow();
  const states = [...new Set([...Object.values(queries).map((query) => query.state), wanted.state])]
    .filter((state) => state && state !== TROUBLED)
    .sort();
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Text in the name"
        placeholder="Part of a name"
        value={wanted.text}
        onInput={(event) => choose({ q: event.currentTarget.value })}
      />
      <select
        aria-label="Class"
        value={wanted.class}
        onChange={(event) => choose({ class: event.currentTarget.value })}
      >
        <option value="">all classes</option>
        {[...new Set([...classRanks.value.keys(), ...(wanted.class ? [wanted.class] : [])])].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="State"
        value={wanted.state}
        onChange={(event) => choose({ state: event.currentTarget.value })}
      >
        <option value="">all states</option>
        <option value={TROUBLED}>something is wrong</option>
        {states.map((state) => (
          <option key={state} value={state}>
            {state}
          </option>
        ))}
      </select>
    </div>
  );
}
