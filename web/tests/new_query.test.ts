import { beforeAll, describe, expect, it, vi } from "vitest";
import type { PlanNode } from "../src/api/types";
import { readableOf } from "../src/lib/catalog";
import { parseSchema, quoted, schemaText } from "../src/lib/schema";
import { examplesFor } from "../src/panes/new_query/examples";
import { meaning, movedPoint, type Point, spanFor, withoutPoint, withPoint } from "../src/panes/new_query/qos";
import { costWords, effectWords, fieldOf, streamsOf, typeWords } from "../src/panes/new_query/words";

describe("schemas", () => {
  it("parts columns, but not types", () => {
    expect(parseSchema("id bigint, price decimal(10, 2), m map<string, int>, `a b` struct<x: int, y: int>")).toEqual([
      { name: "id", type: "bigint" },
      { name: "price", type: "decimal(10, 2)" },
      { name: "m", type: "map<string, int>" },
      { name: "a b", type: "struct<x: int, y: int>" },
    ]);
    expect(parseSchema("")).toEqual([]);
  });

  it("writes what it has read", () => {
    const text = "id bigint, `odd ``name` string, tags array<string>";
    expect(schemaText(parseSchema(text))).toBe(text);
    expect(
      schemaText([
        { name: " a ", type: " int " },
        { name: "", type: "" },
      ]),
    ).toBe("a int");
    expect(quoted("plain_1")).toBe("plain_1");
  });
});

describe("QoS graphs", () => {
  const graph: Point[] = [
    [0, 1],
    [0.5, 1],
    [2, 0],
  ];

  it("puts a point at its place", () => {
    expect(withPoint(graph, [1, 0.5])).toEqual({
      points: [
        [0, 1],
        [0.5, 1],
        [1, 0.5],
        [2, 0],
      ],
      at: 2,
    });
    expect(withPoint(graph, [9, 0]).at).toBe(3);
  });

  it("keeps latencies rising and worth between 0 and 1, wherever a point is dragged", () => {
    for (const latency of [-5, 0.2, 1, 99]) {
      for (const worth of [-1, 0.5, 7]) {
        const moved = movedPoint(graph, 1, [latency, worth]);
        expect(moved[1]![0]).toBeGreaterThanOrEqual(moved[0]![0]);
        expect(moved[1]![0]).toBeLessThanOrEqual(moved[2]![0]);
        expect(moved[1]![1]).toBeGreaterThanOrEqual(0);
        expect(moved[1]![1]).toBeLessThanOrEqual(1);
      }
    }
  });

  it("keeps one point at least, and has room for all", () => {
    expect(withoutPoint([[0, 1]], 0)).toHaveLength(1);
    expect(withoutPoint(graph, 1)).toEqual([
      [0, 1],
      [2, 0],
    ]);
    expect(spanFor(graph)).toBeGreaterThan(2);
  });

  it("says what a graph means", () => {
    expect(meaning(graph)).toBe(
      "A result within 500 ms has all its worth; then it loses worth with every moment, and from 2 s on it is worth nothing.",
    );
    expect(
      meaning([
        [0, 1],
        [1, 1],
        [1, 0],
      ]),
    ).toBe("A result within 1 s has all its worth, and after that it is worth nothing.");
    expect(meaning([[0, 1]])).toBe("A result has all its worth, however long it takes.");
    expect(
      meaning([
        [0, 0],
        [1, 1],
      ]),
    ).toContain("more in between");
  });
});

describe("examples", () => {
  it("are made of the streams that are there", () => {
    const stream = { name: "my readings", schema: "place string, temp double, ts timestamp", event_time: "ts" };
    const table = { name: "halls", schema: "place string, hall string", path: null, error: null, queries: [] };
    const found = examplesFor(readableOf([stream as never], [table]));
    expect(found.map((one) => one.sql)).toEqual([
      "SELECT s.*, t.hall\nFROM `my readings` s\nJOIN halls t ON s.place = t.place",
      "SELECT place, temp, ts\nFROM `my readings`\nWHERE temp > 50",
      "SELECT window.start AS since, place, count(*) AS n, avg(temp) AS mean\nFROM `my readings`\nGROUP BY window(ts, '10 seconds'), place",
    ]);
    expect(examplesFor([])).toEqual([]);
  });
});

describe("words", () => {
  const leaf = (text: string): PlanNode => ({ kind: "stream", text, inputs: [] }) as unknown as PlanNode;

  it("finds the streams of a plan, each once", () => {
    const plan = { kind: "join", text: "", inputs: [leaf("a"), leaf("b"), leaf("a")] } as unknown as PlanNode;
    expect(streamsOf(plan)).toEqual(["a", "b"]);
  });

  it("says what it costs at the present rate", () => {
    const cost = { seconds_per_run: 0.04, seconds_per_tuple: 0.0005, measured_of: "fire", runs: 12, in_group: true };
    expect(costWords({ cost }, 100)).toContain("At the present 100 /s its tuples take 5.0 % of one worker's time");
    expect(costWords({ cost: "unknown" }, 100)).toContain("nothing like it has run yet");
  });

  it("says types in the words of SQL", () => {
    expect(typeWords("timestamp[us, tz=UTC]")).toBe("timestamp");
    expect(typeWords("struct<a: int64, b: bool>")).toBe("struct<a: bigint, b: boolean>");
    expect(typeWords("string")).toBe("string");
  });

  it("does not call noise an effect", () => {
    expect(effectWords({ without: 1, with: 1.01, change: 0.01, error: 0.1, within_error: true })).toContain(
      "no difference",
    );
    expect(effectWords({ without: 1, with: 2, change: 1, error: 0.1, within_error: false })).toBe("100 % slower");
  });

  it("finds the field of a refusal", () => {
    expect(fieldOf({ where: "target", detail: "target: 'x' is not a target" })).toBe("target");
    expect(fieldOf({ where: "line 1, column 2", detail: "…" })).toBe("sql");
    expect(fieldOf({ where: "", detail: "unknown class 'x'" })).toBe("class");
    expect(fieldOf({ where: "", detail: "unknown sink 'nix'" })).toBe("sink");
    expect(fieldOf({ where: "", detail: "the name of a query '' is not a name" })).toBe("name");
    expect(fieldOf({ where: "", detail: "something else" })).toBe("");
  });
});

describe("what is sent", () => {
  beforeAll(() => {
    vi.stubGlobal("window", { sessionStorage: { getItem: () => null, setItem: () => {}, removeItem: () => {} } });
  });

  it("has only what was said", async () => {
    const { EMPTY, toBody } = await import("../src/panes/new_query/draft");
    expect(toBody({ ...EMPTY, name: " a ", sql: "SELECT 1" })).toEqual({ name: "a", sql: "SELECT 1" });
    const full = toBody(
      {
        ...EMPTY,
        name: "a",
        sql: "s",
        class: "critical",
        wish: "qos",
        start: { kind: "after", time: "5" },
        end: { kind: "at", moment: "2026-01-01T00:10:00Z" },
        kept: true,
        lag: "skip",
        sink: "memory",
        sinkSettings: "rows=5",
      },
      Date.parse("2026-01-01T00:00:00Z") / 1000,
    );
    expect(full).toEqual({
      name: "a",
      sql: "s",
      class: "critical",
      qos: EMPTY.qos,
      start: 5,
      end: 600,
      since: "start",
      lag: "skip, tuples=100000",
      sink: "memory, rows=5",
    });
  });
});
