import { expect, test } from "vitest";
import type { ClassEffect, Preview } from "../src/api/deciding_types";
import { changeText, previewLines } from "../src/lib/replays";

test("small changes are per cent, large ones factors", () => {
  expect([0.54, -0.8, 0, 2.5, 96.8, null].map(changeText)).toEqual([
    "+54 %",
    "−80 %",
    "0 %",
    "3.5 times",
    "98 times",
    "–",
  ]);
});

test("those who lose are told first", () => {
  const times = (mean: number) => ({ mean, p50: null, p95: null });
  const made = (effect: ClassEffect["effect"], change: number, before: number, after: number): ClassEffect =>
    // biome-ignore lint/suspicious/noThenProperty: the server calls it so
    ({ effect, change, error: 0, now: times(before), then: times(after) });
  const preview: Preview = {
    policy: "hnr",
    fuse: null,
    priorities: {},
    classes: {
      low: made("gains", -0.5, 2, 1),
      mid: made("within the error", 0.01, 2, 2.02),
      high: made("loses", 1, 0.5, 1),
    },
  };
  expect(previewLines(preview)).toEqual([
    "high loses: 500 ms → 1 s (+100 %)",
    "low gains: 2 s → 1 s (−50 %)",
    "mid: no difference that can be told",
  ]);
});
