import { expect, test } from "vitest";
import type { InvertedPair, Share } from "../src/api/deciding_types";
import { byCause, causeMeaning, ELSEWHERE, lossesByClass } from "../src/panes/inversions/losses";

const share = (cls: string | null, cause: string, seconds: number): Share => ({
  whom: `${cls}'s filters`,
  class: cls,
  work: "filters",
  queries: [],
  cause,
  seconds,
  runs: 1,
});
const pair = (above: string, below: string, to: Share[]): InvertedPair => ({
  above,
  below,
  response_above: 2,
  response_below: 1,
  results: 5,
  lost: 1,
  causes: {},
  sum: { seconds: to.reduce((sum, one) => sum + one.seconds, 0), to },
  summary: "",
});

test("time lost against two classes counts once, and is added up by class", () => {
  const more = pair("high", "mid", [
    share("low", "long run", 3),
    share("low", "policy's order", 2),
    share(null, "commit", 1),
  ]);
  const less = pair("high", "low", [share("low", "long run", 1)]);
  const [loss, ...rest] = lossesByClass([less, more]);
  expect(rest).toEqual([]);
  expect(loss?.pair).toBe(more);
  expect(loss?.others).toEqual([less]);
  expect(loss?.seconds).toBe(6);
  expect([...(loss?.to ?? [])]).toEqual([
    ["low", 5],
    [ELSEWHERE, 1],
  ]);
});

test("causes come by how much they took", () => {
  const found = byCause([share("a", "long run", 1), share("b", "policy's order", 3), share("c", "long run", 1)]);
  expect(found.map((one) => [one.cause, one.seconds, one.shares.length])).toEqual([
    ["policy's order", 3, 1],
    ["long run", 2, 2],
  ]);
  expect(causeMeaning("long run")).not.toBe("");
  expect(causeMeaning("something new")).toBe("");
});
