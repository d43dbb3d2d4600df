import { expect, test } from "vitest";
import { Problem } from "../src/api/client";
import type { JournalEntry, LatencyCurve, QueryStatus } from "../src/api/types";
import { doToAll, outcomeText } from "../src/panes/queries/commands";
import { extended, NO_LINES } from "../src/panes/queries/list/latency_lines";
import { filtered, isTroubled, rowsOf, sortingOf, TROUBLED } from "../src/panes/queries/list/rows";
import { meanParts, slowest } from "../src/panes/queries/query/curve_numbers";
import { slowestInput } from "../src/panes/queries/query/inputs";
import { joined } from "../src/panes/queries/query/journal_lines";
import { contentOf, placeOf, replayedText } from "../src/panes/queries/query/letters";
import { KEPT, withNewer } from "../src/panes/queries/query/tail";

const query = (more: Partial<QueryStatus> = {}): QueryStatus =>
  ({ class: "normal", state: "running", is_late: false, ...more }) as QueryStatus;

test("a row is the same object as long as neither its numbers nor its line have changed", () => {
  const [a, b] = [query(), query()];
  const line = [1, 2];
  const first = rowsOf(new Map(), { a, b }, new Map([["a", line]]));
  const then = rowsOf(first, { a, b: query({ waiting: 3 }) }, new Map([["a", line]]));
  expect(then.get("a")).toBe(first.get("a"));
  expect(then.get("b")).not.toBe(first.get("b"));
  expect(rowsOf(then, { a }, new Map([["a", [1, 2, 3]]])).get("a")).not.toBe(first.get("a"));
  expect([...rowsOf(then, { a }, new Map()).keys()]).toEqual(["a"]);
});

test("rows are filtered by class, state and a part of the name in any case", () => {
  const rows = rowsOf(
    new Map(),
    { Fire: query({ class: "critical" }), frost: query({ state: "paused" }), hot: query({ error: "it broke" }) },
    new Map(),
  ).values();
  const all = [...rows];
  const names = (wanted: Partial<{ class: string; state: string; text: string }>) =>
    filtered(all, { class: "", state: "", text: "", ...wanted }).map((row) => row.name);
  expect(names({})).toEqual(["Fire", "frost", "hot"]);
  expect(names({ class: "critical" })).toEqual(["Fire"]);
  expect(names({ state: "paused" })).toEqual(["frost"]);
  expect(names({ state: TROUBLED })).toEqual(["hot"]);
  expect(names({ text: " FR" })).toEqual(["frost"]);
  expect(names({ text: "f", class: "normal" })).toEqual(["frost"]);
});

test("what is suspended, stalled, late or misses its target is troubled", () => {
  expect(isTroubled(query())).toBe(false);
  expect(isTroubled(query({ state: "suspended" }))).toBe(true);
  expect(isTroubled(query({ stalled: 12 }))).toBe(true);
  expect(isTroubled(query({ is_late: true }))).toBe(true);
  const target = { target: "1 s", seconds: 1, percentile: 0.95, overdue: false };
  expect(isTroubled(query({ target: { ...target, state: "met" } }))).toBe(false);
  expect(isTroubled(query({ target: { ...target, state: "missed" } }))).toBe(true);
});

test("the order of the address is by name unless it says another one", () => {
  expect(sortingOf(null)).toEqual({ key: "name", down: false });
  expect(sortingOf("-p95")).toEqual({ key: "p95", down: true });
  expect(sortingOf("wait")).toEqual({ key: "wait", down: false });
});

test("latency lines grow at their ends, take nothing twice, and forget queries that are gone", () => {
  const first = extended(NO_LINES, { at: [5, 10], queries: { a: [1, 2], gone: [7, 7] } });
  const then = extended(first, { at: [10, 15], queries: { a: [9, 3], b: [9, 4] } });
  expect(then.at).toEqual([5, 10, 15]);
  expect(then.queries.get("a")).toEqual([1, 2, 3]);
  expect(then.queries.get("b")).toEqual([null, null, 4]);
  expect(then.queries.has("gone")).toBe(false);
  expect(extended(then, { at: [], queries: {} })).toBe(then);
});

test("latency lines keep ten minutes and no more", () => {
  let lines = NO_LINES;
  for (let at = 0; at < 300; at += 1) lines = extended(lines, { at: [at], queries: { a: [at] } });
  expect(lines.at.length).toBe(120);
  expect(lines.queries.get("a")?.length).toBe(120);
  expect(lines.queries.get("a")?.at(-1)).toBe(299);
});

const curve = (max: (number | null)[], results: (number | null)[]): LatencyCurve => {
  const half = max.map((value) => (value === null ? null : value / 2));
  const none = max.map((value) => (value === null ? null : 0));
  return {
    step: 2,
    at: max.map((_, place) => 100 + 2 * place),
    results,
    p50: half,
    p95: max,
    max,
    parts: { window: none, queue: half, running: half, commit: none, sink: none },
  };
};

test("means weigh each moment by its results", () => {
  const means = meanParts(curve([1, 4, null], [3, 1, 0]))!;
  expect(means.results).toBe(4);
  expect(means.seconds).toBeCloseTo(1.75);
  expect(means.parts.queue).toBeCloseTo(0.875);
  expect(meanParts(curve([null], [0]))).toBeNull();
});

test("the slowest moments are told by the middle of their step, and are not side by side", () => {
  const found = slowest(curve([1, 9, 8, 1, 1, 5, null], [1, 1, 1, 1, 1, 1, 0]), 2);
  expect(found.map((one) => one.at)).toEqual([101, 109]);
  expect(found.map((one) => one.seconds)).toEqual([9, 5]);
});

test("the newest results come first, and only the last are kept", () => {
  const rows = (first: number, count: number) => Array.from({ length: count }, (_, place) => ({ id: first + place }));
  const one = withNewer([], rows(0, 3), 0);
  expect(one.map((row) => row.values.id)).toEqual([2, 1, 0]);
  const two = withNewer(one, rows(3, KEPT + 50), 3);
  expect(two.length).toBe(KEPT);
  expect(two[0]!.values.id).toBe(KEPT + 52);
  expect(new Set(two.map((row) => row.number)).size).toBe(KEPT);
  expect(two[0]!.number).toBe(KEPT + 52);
});

test("lines of the journal that came twice are shown once, the newest first", () => {
  const line = (at: number): JournalEntry => ({ at, query: "a", from: "running", to: "paused", reason: "" });
  expect(joined([line(2), line(1), line(2), line(3)]).map((one) => one.at)).toEqual([3, 2, 1]);
});

test("the slowest input is the stream whose slowest reader is furthest behind", () => {
  const stream = (oldest_wait: number) => ({ lag: { query: "q", tuples: 1, oldest_wait } }) as never;
  expect(slowestInput(["a", "b"], { a: stream(1), b: stream(3) })?.stream).toBe("b");
  expect(slowestInput(["a", "table"], { a: {} as never })).toBeNull();
});

test("what is refused for one query does not keep the others from it", async () => {
  const outcome = await doToAll(["a", "b", "c", "d", "e", "f"], (name) =>
    name === "c" ? Promise.reject(new Problem(409, "it has ended")) : Promise.resolve(),
  );
  expect(outcome.done).toBe(5);
  expect(outcomeText(outcome, "paused")).toBe("5 paused, 1 refused: c: it has ended");
  expect(outcomeText({ done: 1, refused: [] }, "paused")).toBe("1 query paused");
});

test("a replay is told with what was taken, died again or was left", () => {
  expect(replayedText({ taken: 2, dead_again: {}, left: {} })).toBe("2 taken");
  expect(replayedText({ taken: 0, dead_again: { "no number": 1 }, left: { "by zero": 3 } })).toBe(
    "0 taken, 1 dead again (no number), 3 left, since they are in the stream already",
  );
});

test("a letter is told by its text, its row or its values, and by its place if it has one", () => {
  const letter = { reason: "late", arrival: 1 };
  expect(contentOf({ ...letter, text: "a,b", row: null })).toBe("a,b");
  expect(contentOf({ ...letter, text: null, row: { k: 1 } })).toBe('{"k":1}');
  expect(contentOf({ ...letter, text: null, row: null, values: '{"k":0}' })).toBe('{"k":0}');
  expect(contentOf(letter)).toBe("–");
  expect(placeOf({ ...letter, offset: 0 })).toBe("0");
  expect(placeOf({ ...letter, offset: null, offsets: [["a", 3]] })).toBe("a 3");
  expect(placeOf(letter)).toBe("–");
});
