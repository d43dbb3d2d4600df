import { expect, test } from "vitest";
import { merged } from "../src/api/merge_patch";

// The examples of RFC 7396, appendix A.
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("%j patched with %j is %j", (target: unknown, patch, result) => {
  expect(merged(target, patch)).toEqual(result);
});

test("what a patch does not touch stays the same object, and the old document stays as it was", () => {
  const before = { queries: { hot: { waiting: 1 }, cold: { waiting: 2 } } };
  const after = merged(before, { queries: { hot: { waiting: 5 } } });
  expect(after.queries.cold).toBe(before.queries.cold);
  expect(before.queries.hot.waiting).toBe(1);
});
