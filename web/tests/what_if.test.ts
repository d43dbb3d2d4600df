import { expect, test } from "vitest";
import { addressOf, asksSomething, bodyOf, differences, problemOf, questionOf } from "../src/panes/what_if/question";
import { linearScale, logScale } from "../src/panes/what_if/scale";

const ADDRESS =
  "policy=bsd%2C+clusters%3D12&policy=hnr&priority=my%3Dclass%3D80&fuse=off&rate=1.5&workers=4&minutes=5&sql=SELECT+1&class=normal&by=p95";

test("a question is the same after it was in an address", () => {
  const question = questionOf(new URLSearchParams(ADDRESS));
  expect(question.policies).toEqual(["bsd, clusters=12", "hnr"]);
  expect(question.priorities).toEqual({ "my=class": "80" });
  expect(addressOf(question)).toBe(ADDRESS);
});

test("what is as usual is neither in the address nor in the question", () => {
  const nothing = questionOf(new URLSearchParams("minutes=7&fuse=nonsense"));
  expect(addressOf(nothing)).toBe("");
  expect(bodyOf(nothing)).toEqual({ last: 60 });
  expect(asksSomething(nothing)).toBe(false);
  expect(asksSomething(questionOf(new URLSearchParams("by=p95&minutes=5")))).toBe(false);
  expect(asksSomething(questionOf(new URLSearchParams("rate=2")))).toBe(true);
});

test("the server gets numbers", () => {
  expect(bodyOf(questionOf(new URLSearchParams(ADDRESS)))).toEqual({
    last: 300,
    policies: ["bsd, clusters=12", "hnr"],
    fuse: "off",
    priorities: { "my=class": 80 },
    rate: 1.5,
    workers: 4,
    added: { sql: "SELECT 1", class: "normal" },
    by: "p95",
  });
});

test("what is wrong is said before it is asked", () => {
  const wrong = (address: string) => problemOf(questionOf(new URLSearchParams(address)));
  expect(wrong("rate=0")).toContain("rate");
  expect(wrong("workers=1.5")).toContain("Workers");
  expect(wrong("priority=a=-1")).toContain("priority of a");
  expect(wrong("sql=SELECT+1")).toContain("class");
  expect(wrong(ADDRESS)).toBe("");
});

test("differences in words", () => {
  expect(differences(questionOf(new URLSearchParams("fuse=all&rate=2&priority=a=5")))).toEqual([
    "fusion all",
    "priority 5 for a",
    "2 times as many tuples",
  ]);
});

test("an axis has its values within, in order, and some ticks", () => {
  for (const scale of [logScale([0.2, 92]), linearScale([0.2, 92]), logScale([0.5]), linearScale([0.5])]) {
    expect(scale.ticks.length).toBeGreaterThanOrEqual(2);
    for (const tick of scale.ticks) expect(scale.place(tick)).toBeGreaterThanOrEqual(0);
    for (const tick of scale.ticks) expect(scale.place(tick)).toBeLessThanOrEqual(1);
  }
  expect(logScale([0.2, 92]).place(0.3)).toBeLessThan(logScale([0.2, 92]).place(50));
  expect(logScale([]).place(0)).toBe(0);
});
