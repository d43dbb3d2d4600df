import { expect, test } from "vitest";
import { type Column, inOrder, sortRows } from "../src/ui/data_table";

interface Row {
  name: string;
  wait: number | null;
}

const columns: Column<Row>[] = [
  { key: "name", title: "Name", value: (row) => row.name, show: (row) => row.name },
  { key: "wait", title: "Wait", value: (row) => row.wait, show: (row) => row.wait },
];
const rows: Row[] = [
  { name: "b", wait: null },
  { name: "c", wait: 2 },
  { name: "a", wait: 10 },
];
const names = (sorted: readonly Row[]) => sorted.map((row) => row.name).join("");

test("rows are sorted by numbers as numbers, and those without a value come last both ways", () => {
  expect(names(sortRows(rows, columns, { key: "wait", down: false }))).toBe("cab");
  expect(names(sortRows(rows, columns, { key: "wait", down: true }))).toBe("acb");
});

test("rows are sorted by texts, and stay as they are without a column", () => {
  expect(names(sortRows(rows, columns, { key: "name", down: false }))).toBe("abc");
  expect(sortRows(rows, columns, null)).toBe(rows);
});

test("rows that are held keep their order, and new ones come last", () => {
  const held = new Map([
    ["c", 0],
    ["b", 1],
  ]);
  expect(names(inOrder(rows, held, (row) => row.name))).toBe("cba");
});
