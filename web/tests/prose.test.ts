import { expect, test } from "vitest";
import { blocks, pieces } from "../src/lib/prose";

test("paragraphs, lists and examples are told apart", () => {
  const text = "One line\ngoes on.\n\n* `a`: first; * `b`: 2 * 3;\n\n>>> 1 + 1\n2";
  expect(blocks(text)).toEqual([
    { kind: "text", text: "One line goes on." },
    { kind: "list", items: ["`a`: first", "`b`: 2 * 3"] },
    { kind: "example", lines: [">>> 1 + 1", "2"] },
  ]);
});

test("a list with an item in each line", () => {
  expect(blocks("* one\n* two")).toEqual([{ kind: "list", items: ["one", "two"] }]);
});

test("code within a line is told apart, and tags stay text", () => {
  expect(pieces("with `fuse=all` and <b>bold</b>")).toEqual([
    { text: "with ", code: false },
    { text: "fuse=all", code: true },
    { text: " and <b>bold</b>", code: false },
  ]);
  expect(pieces("a lone ` stays")).toEqual([{ text: "a lone ` stays", code: false }]);
});
