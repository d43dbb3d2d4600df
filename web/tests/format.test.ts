import { expect, test } from "vitest";
import { bytes, count, duration, percent, plural, rate } from "../src/lib/format";

test.each([
  [null, "–"],
  [0, "0 s"],
  [0.0000123, "12 µs"],
  [0.0034, "3.4 ms"],
  [0.34, "340 ms"],
  [0.9996, "1 s"],
  [2.14, "2.14 s"],
  [59.96, "60 s"],
  [185, "3 min 5 s"],
  [119.9, "2 min"],
  [7260, "2 h 1 min"],
  [200_000, "2 d 8 h"],
  [-2, "−2 s"],
])("the duration %s is %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test.each([
  [0, "0"],
  [950, "950"],
  [1234, "1,234"],
  [3069.4, "3,069"],
  [12_345, "12.3 k"],
  [999_999, "1 M"],
  [4.126, "4.13"],
  [-1234, "−1,234"],
])("the count %s is %s", (value, text) => {
  expect(count(value)).toBe(text);
});

test("rates, shares, sizes and plurals have their units", () => {
  expect(rate(12)).toBe("12 /s");
  expect(percent(0.814)).toBe("81 %");
  expect(percent(0.0312)).toBe("3.1 %");
  expect(bytes(92_012)).toBe("92 kB");
  expect(bytes(999)).toBe("999 B");
  expect(plural(1, "query", "queries")).toBe("1 query");
  expect(plural(5, "query", "queries")).toBe("5 queries");
});
