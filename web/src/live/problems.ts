/** What is wrong now, the gravest first: found in the status alone, so that anybody can find the same. */

import { computed } from "@preact/signals";
import type { QueryStatus, Status } from "../api/types";
import { bytes, count, duration, plural } from "../lib/format";
import { status } from "./connection";

export interface Trouble {
  id: string;
  grave: boolean; // something has stopped, as against something is late
  what: string; // "query", "stream", …
  name: string; // of what is wrong; "" for the engine itself
  text: string;
}

/** All that is wrong, the gravest first. */
export function findProblems(now: Status): Trouble[] {
  const found = [...ofEngine(now), ...ofStreams(now)];
  for (const [name, query] of Object.entries(now.queries ?? {})) found.push(...ofQuery(name, query));
  for (const name of now.starved ?? []) {
    found.push(trouble(true, "class", name, "gets no turns although its tuples have waited for long"));
  }
  for (const [name, { below, ratio }] of Object.entries(now.inversion ?? {})) {
    if (ratio > 1)
      found.push(
        trouble(
          false,
          "inversion",
          name,
          `answers ${ratio.toFixed(1)} times later than ${below}, which is less important`,
        ),
      );
  }
  return found.sort((a, b) => Number(b.grave) - Number(a.grave));
}

export const problems = computed(() => (status.value ? findProblems(status.value) : []));
/** How many things have stopped. */
export const problemCount = computed(() => problems.value.filter((one) => one.grave).length);

function trouble(grave: boolean, what: string, name: string, text: string): Trouble {
  return { id: `${what} ${name} ${grave}`, grave, what, name, text };
}

function ofEngine(now: Status): Trouble[] {
  const found: Trouble[] = [];
  const { engine, disk } = now;
  if (engine.state === "failed" || engine.state === "restarting") {
    found.push(trouble(true, "Spark", "", engine.detail || engine.state));
  }
  if (disk?.full) {
    found.push(
      trouble(
        true,
        "disk",
        "",
        `${disk.error ?? "no room is left"} (${bytes(disk.free)} free): rows are refused until there is room`,
      ),
    );
  }
  if (now.policy_error) found.push(trouble(true, "policy", now.policy ?? "", now.policy_error));
  return found;
}

function ofStreams(now: Status): Trouble[] {
  return Object.entries(now.streams ?? {})
    .filter(([, stream]) => stream.error)
    .map(([name, stream]) => trouble(true, "stream", name, `its source has failed: ${stream.error}`));
}

function ofQuery(name: string, query: QueryStatus): Trouble[] {
  if (query.state === "failed" || query.state === "suspended") {
    return [trouble(true, "query", name, `${query.state}${query.error ? `: ${query.error}` : ""}`)];
  }
  if (query.stalled !== undefined) {
    return [
      trouble(
        true,
        "query",
        name,
        `stalled: nothing was committed for ${duration(query.stalled)}, and ${plural(query.waiting, "tuple")} wait`,
      ),
    ];
  }
  if (query.target?.state === "missed" || query.target?.overdue) {
    const by = query.target.missed_by ? ` by ${duration(query.target.missed_by)}` : "";
    return [trouble(false, "query", name, `misses its target of ${query.target.target}${by}`)];
  }
  if (query.is_late)
    return [trouble(false, "query", name, `is late: its oldest tuple has waited ${duration(query.oldest_wait)}`)];
  if (query.error) return [trouble(false, "query", name, query.error)];
  return [];
}

/** How badly a query does, to find those worst off: how far it is beyond its target, else how long tuples wait. */
export function badness(query: QueryStatus): number {
  const late = query.latency.last_10_s.p95 ?? 0;
  const goal = query.target?.seconds;
  return Math.max(goal ? late / goal : 0, query.oldest_wait / (goal ?? 10), late / (goal ?? 10));
}

/** In words how a query does, as `p95 2.1 s, 350 tuples wait`. */
export function howItDoes(query: QueryStatus): string {
  return `p95 ${duration(query.latency.last_10_s.p95)}, ${count(query.waiting)} tuples wait`;
}
