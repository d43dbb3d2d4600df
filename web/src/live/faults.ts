/** What is wrong now, the gravest first: found in the status alone, so that anybody can find the same. */

import { computed } from "@preact/signals";
import type { QueryStatus, Status } from "../api/types";
import { bytes, duration, plural } from "../lib/format";
import { status } from "./connection";

export type Subject = "engine" | "disk" | "policy" | "stream" | "query" | "class";

export interface Fault {
  kind: string; // those of one kind are told together if there are many, as "late"
  grave: boolean; // something has stopped, as against something is late
  subject: Subject;
  name: string; // of what is wrong; "" for the engine itself
  text: string;
}

/** All that is wrong, the gravest first. */
export function findFaults(now: Status): Fault[] {
  const found = [...ofEngine(now), ...ofStreams(now), ...ofQueries(now), ...ofClasses(now)];
  return found.sort((a, b) => Number(b.grave) - Number(a.grave));
}

export const faults = computed(() => (status.value ? findFaults(status.value) : []));
/** How many things have stopped. */
export const graveCount = computed(() => faults.value.filter((one) => one.grave).length);

function* ofEngine({ engine, disk, policy = "", policy_error }: Status): Iterable<Fault> {
  if (engine.state === "failed" || engine.state === "restarting") {
    yield { kind: "Spark", grave: true, subject: "engine", name: "", text: `Spark: ${engine.detail || engine.state}` };
  }
  if (disk?.full) {
    const text = `${disk.error ?? "no room is left"} (${bytes(disk.free)} free): rows are refused until there is room`;
    yield { kind: "disk", grave: true, subject: "disk", name: "", text };
  }
  if (policy_error) yield { kind: "policy", grave: true, subject: "policy", name: policy, text: policy_error };
}

function* ofStreams(now: Status): Iterable<Fault> {
  for (const [name, { error }] of Object.entries(now.streams ?? {})) {
    if (error) yield { kind: "source", grave: true, subject: "stream", name, text: `its source has failed: ${error}` };
  }
}

function* ofQueries(now: Status): Iterable<Fault> {
  for (const [name, query] of Object.entries(now.queries ?? {})) {
    const found = ofQuery(query);
    if (found) yield { subject: "query", name, ...found };
  }
}

function ofQuery(query: QueryStatus): Pick<Fault, "kind" | "grave" | "text"> | null {
  const { state, error, stalled, target } = query;
  if (state === "failed" || state === "suspended") {
    return { kind: state, grave: true, text: error ? `${state}: ${error}` : state };
  }
  if (stalled !== undefined) {
    const text = `stalled: nothing was committed for ${duration(stalled)}, and ${plural(query.waiting, "tuple")} wait`;
    return { kind: "stalled", grave: true, text };
  }
  if (query.failing) {
    const text = `${plural(query.failing, "tuple")} failed in the last minute: its dead letters say why`;
    return { kind: "failing", grave: query.latency.last_minute.count === 0, text };
  }
  if (target?.state === "missed" || target?.overdue) {
    const by = target.missed_by ? ` by ${duration(target.missed_by)}` : "";
    return { kind: "missed", grave: false, text: `misses its target of ${target.target}${by}` };
  }
  if (query.is_late) {
    return { kind: "late", grave: false, text: `is late: its oldest tuple has waited ${duration(query.oldest_wait)}` };
  }
  return error ? { kind: "error", grave: false, text: error } : null;
}

function* ofClasses(now: Status): Iterable<Fault> {
  for (const name of now.starved ?? []) {
    const text = "gets no turns although its tuples have waited for long";
    yield { kind: "starved", grave: true, subject: "class", name, text };
  }
  for (const [name, { below, ratio }] of Object.entries(now.inversion ?? {})) {
    const text = `answers ${ratio.toFixed(1)} times later than ${below}, which is less important`;
    if (ratio > 1) yield { kind: "inversion", grave: false, subject: "class", name, text };
  }
}

/** How badly a query does, to find those worst off: how far it is beyond its target, else how long tuples wait. */
export function badness({ latency, target, oldest_wait }: QueryStatus): number {
  const wanted = target?.seconds ?? 10;
  return Math.max(latency.last_10_s.p95 ?? 0, oldest_wait) / wanted;
}
