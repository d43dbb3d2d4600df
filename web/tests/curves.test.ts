import { expect, test } from "vitest";
import type { Latencies } from "../src/api/types";
import { aboveZero, joined } from "../src/panes/classes/curves";

const told = (at: number[], values: Record<string, (number | null)[]>): Latencies => ({
  step: 5,
  at,
  queries: {},
  classes: Object.fromEntries(
    Object.entries(values).map(([name, p50]) => [name, { p50, p95: p50, waiting: p50, rate: p50 }]),
  ),
});

test("new values come after the known ones, and a class that is new has gaps before", () => {
  const first = joined(null, told([5, 10], { a: [1, 2] }));
  const then = joined(first, told([10, 15], { a: [9, 3], b: [9, 4] }));
  expect(then.at).toEqual([5, 10, 15]);
  expect(then.classes.a?.p95).toEqual([1, 2, 3]);
  expect(then.classes.b?.p50).toEqual([null, null, 4]);
});

test("a class that is gone has gaps, and what is older than ten minutes goes", () => {
  const first = joined(null, told([100, 300], { a: [1, 2] }));
  const then = joined(first, told([800], { b: [3] }));
  expect(then.at).toEqual([300, 800]);
  expect(then.classes.a?.p50).toEqual([2, null]);
});

test("nothing new changes nothing", () => {
  const first = joined(null, told([5], { a: [1] }));
  expect(joined(first, told([], {}))).toEqual(first);
  expect(joined(null, told([], {})).at).toEqual([]);
});

test("a logarithmic axis has no zero", () => {
  expect(aboveZero([0, 1, null])).toEqual([null, 1, null]);
});
