import { expect, test } from "vitest";
import { isolated, stacked } from "../src/ui/chart_lines";

test("bands lie on top of each other, are told by their own values, and the last is drawn first", () => {
  const bands = stacked([
    { name: "a", values: [1, null, 3], colour: "" },
    { name: "b", values: [10, null, 30], colour: "" },
  ]);
  expect(bands.map((band) => band.name)).toEqual(["b", "a"]);
  expect(bands[0]!.values).toEqual([11, null, 33]);
  expect(bands[0]!.told).toEqual([10, null, 30]);
  expect(bands[1]!.values).toEqual([1, null, 3]);
});

test("values without neighbours are found, at the ends, too", () => {
  expect(isolated([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(isolated([null, 7, undefined])).toEqual([1]);
  expect(isolated([])).toEqual([]);
});
