import { expect, test } from "vitest";
import type { QueryStatus, Status } from "../src/api/types";
import { badness, findFaults } from "../src/live/faults";

const none = { count: 0 };
const query = (more: Partial<QueryStatus> = {}): QueryStatus => ({
  class: "normal",
  state: "running",
  sink: "parquet",
  priority: 30,
  waiting: 0,
  oldest_wait: 0,
  rate: 0,
  runs: 1,
  tuples_in: 0,
  tuples_out: 0,
  dead_letters: 0,
  late: 0,
  skipped: 0,
  undelivered: 0,
  is_late: false,
  latency: { last_10_s: none, last_minute: none, last_10_minutes: none },
  ...more,
});
const status = (more: Partial<Status>): Status => ({ engine: { state: "ready", detail: "", seconds: 1 }, ...more });

test("nothing is wrong with queries that run", () => {
  expect(findFaults(status({ queries: { a: query() } }))).toEqual([]);
});

test("what has stopped comes before what is late", () => {
  const found = findFaults(
    status({
      queries: { late: query({ is_late: true }), broken: query({ state: "failed", error: "division by zero" }) },
      streams: { feed: { tuples: 0, kept_from: 0, finished: false, rate: 0, dead_letters: 0, error: "no such file" } },
    }),
  );
  expect(found.map((one) => one.name)).toEqual(["feed", "broken", "late"]);
  expect(found[1]!.text).toContain("division by zero");
});

test.each([
  ["a dead Spark", status({ engine: { state: "restarting", detail: "Java has ended", seconds: 2 } }), "Java has ended"],
  ["a full disk", status({ disk: { free: 0, full: true } }), "rows are refused"],
  ["a stalled query", status({ queries: { q: query({ stalled: 70, waiting: 5 }) } }), "70 s"],
  ["a query all of whose tuples fail", status({ queries: { q: query({ failing: 12 }) } }), "12 tuples failed"],
  ["a starved class", status({ starved: ["background"] }), "no turns"],
])("%s is told", (_, now, words) => {
  const found = findFaults(now);
  expect(found).toHaveLength(1);
  expect(found[0]!.grave).toBe(true);
  expect(found[0]!.text).toContain(words);
});

test("an inversion is told only when the more important class is later", () => {
  expect(findFaults(status({ inversion: { critical: { below: "normal", ratio: 0.8 } } }))).toEqual([]);
  expect(findFaults(status({ inversion: { critical: { below: "normal", ratio: 1.7 } } }))).toHaveLength(1);
});

test("a query beyond its target is worse off than one that only waits", () => {
  const target = { target: "p95 100 ms", seconds: 0.1, percentile: 95, state: "missed", overdue: false };
  const missing = query({ target, latency: { ...query().latency, last_10_s: { count: 9, p95: 0.9 } } });
  expect(badness(missing)).toBeGreaterThan(badness(query({ oldest_wait: 5 })));
});
