import { describe, expect, it } from "vitest";
import { parseExact } from "../src/lib/exact_json";
import { byReason, longestPart, withoutValues } from "../src/panes/streams/letters";
import { kindOf, kindOfText, piecesOf } from "../src/panes/streams/pieces";
import { extended } from "../src/panes/streams/rates";
import { readersOf } from "../src/panes/streams/readers";
import { fieldOf } from "../src/panes/streams/stream_fields";
import { localNow, localTime, readValue } from "../src/panes/streams/values";

async function cut(text: string | Uint8Array<ArrayBuffer>, kind: "csv" | "jsonl" | "arrow", size: number) {
  const found: { text: string; end: number }[] = [];
  for await (const piece of piecesOf(new Blob([text]), kind, size)) {
    found.push({ text: new TextDecoder().decode(piece.data), end: piece.end });
  }
  return found;
}

describe("pieces", () => {
  it("cut JSON lines at their ends, and lose nothing", async () => {
    const lines = Array.from({ length: 50 }, (_, at) => `{"id": ${at}, "text": "${"x".repeat(at)}"}\n`).join("");
    for (const size of [10, 64, 333, 100_000]) {
      const found = await cut(lines, "jsonl", size);
      expect(found.map((piece) => piece.text).join("")).toBe(lines);
      for (const piece of found) expect(piece.text.endsWith("\n")).toBe(true);
      expect(found.at(-1)!.end).toBe(lines.length);
    }
  });

  it("give every piece of CSV its header, and do not cut within quotes", async () => {
    const header = 'id,"a\nname"\n';
    const rows = Array.from({ length: 30 }, (_, at) => `${at},"two\nlines ""${at}"""\n`);
    for (const size of [5, 40, 200, 100_000]) {
      const found = await cut(header + rows.join(""), "csv", size);
      for (const piece of found) expect(piece.text.startsWith(header)).toBe(true);
      const without = found.map((piece) => piece.text.slice(header.length));
      expect(without.join("")).toBe(rows.join(""));
      for (const part of without) expect((part.match(/"/g) ?? []).length % 2).toBe(0);
    }
  });

  it("keep a last row that has no line end, and send nothing for nothing", async () => {
    expect((await cut('{"a": 1}\n{"a": 2}', "jsonl", 4)).map((piece) => piece.text)).toEqual([
      '{"a": 1}\n',
      '{"a": 2}',
    ]);
    expect(await cut("", "jsonl", 4)).toEqual([]);
    expect(await cut("a,b\n", "csv", 100)).toEqual([]);
    expect((await cut("ä\nö\n", "csv", 1)).map((piece) => piece.text)).toEqual(["ä\nö\n"]);
  });

  it("make JSON lines of a list", async () => {
    expect((await cut('\n [{"a": 1}, {"a": 2}]', "jsonl", 5))[0]!.text).toBe('{"a":1}\n{"a":2}\n');
    await expect(cut("[oops", "jsonl", 5)).rejects.toThrow("no list of objects");
  });

  it("make a stream of an Arrow file", async () => {
    const bytes = new TextEncoder().encode("ARROW1\0\0rest");
    expect((await cut(bytes, "arrow", 5))[0]!.text).toBe("rest");
    expect((await cut("a stream", "arrow", 5))[0]!.text).toBe("a stream");
  });

  it("tell kinds by names and by beginnings", () => {
    expect(["a.csv", "B.NDJSON", "x.json", "y.arrow", "z.xlsx"].map(kindOf)).toEqual([
      "csv",
      "jsonl",
      "jsonl",
      "arrow",
      null,
    ]);
    expect(kindOfText(' \n{"a": 1}')).toBe("jsonl");
    expect(kindOfText("a,b\n1,2")).toBe("csv");
  });
});

describe("typed values", () => {
  it("become JSON of their type", () => {
    expect(readValue("12345678901234567890", "bigint")).toEqual({ json: "12345678901234567890" });
    expect(readValue("+007", "int")).toEqual({ json: "7" });
    expect(readValue(".5", "double")).toEqual({ json: "0.5" });
    expect(readValue("-1.50", "decimal(10, 2)")).toEqual({ json: '"-1.50"' });
    expect(readValue("3.", "double")).toEqual({ json: "3" });
    expect(readValue("TRUE", "boolean")).toEqual({ json: "true" });
    expect(readValue("[1, 2]", "array<int>")).toEqual({ json: "[1, 2]" });
    expect(readValue(' "quoted" ', "string")).toEqual({ json: '" \\"quoted\\" "' });
    expect(readValue("2026-01-05T12:00:01Z", "timestamp")).toEqual({ json: '"2026-01-05T12:00:01Z"' });
    expect(readValue("", "string")).toEqual({ json: "null" });
  });

  it("keep all their digits", () => {
    expect(readValue("123456789012345678.91", "decimal(20, 2)")).toEqual({ json: '"123456789012345678.91"' });
    expect(readValue("[9007199254740993]", "array<bigint>")).toEqual({ json: "[9007199254740993]" });
    expect(readValue('{"a":\n 9007199254740993}', "struct<a: bigint>")).toEqual({ json: '{"a": 9007199254740993}' });
  });

  it("are valid JSON, or refused", () => {
    for (const typed of ["00", "-0", "+.5e3", "5.e2", "0.0", "1e9", "-.5", "000.5"]) {
      const read = readValue(typed, "double");
      expect("json" in read && JSON.parse(read.json)).toBe(Number(typed));
    }
    expect(readValue("1.5", "int")).toEqual({ error: "is not a whole number" });
    expect(readValue("warm", "double")).toEqual({ error: "is not a number" });
    expect(readValue("yes", "boolean")).toHaveProperty("error");
    expect(readValue("{", "struct<a: int>")).toHaveProperty("error");
  });

  it("take the reader's zone from a browser's field", () => {
    const read = readValue(localNow(new Date("2026-01-05T12:00:01Z")), "timestamp");
    expect(read).toEqual({ json: '"2026-01-05T12:00:01.000Z"' });
  });
});

describe("times of rows", () => {
  it("are in the reader's zone, with all their digits", () => {
    const local = localNow(new Date("2026-11-17T11:21:52Z")).replace("T", " ");
    expect(localTime("2026-11-17T11:21:52.069986+00:00")).toBe(`${local}.069986`);
    expect(localTime("2026-11-17T11:21:52Z")).toBe(local);
    expect(localTime("yesterday")).toBe("yesterday");
    expect(localTime("null")).toBe("null");
  });
});

describe("dead letters", () => {
  it("are counted by reason, without the values that differ", () => {
    const letter = (reason: string, arrival: number) => ({ reason, arrival });
    const found = byReason([
      letter("column 'id': 1.5 is not a whole number", 1),
      letter("column 'id': 2.5 is not a whole number", 3),
      letter("broken JSON: Expecting value at 1", 2),
    ]);
    expect(found).toEqual([
      { label: "column 'id': … is not a whole number", part: "is not a whole number", count: 2, newest: 3 },
      { label: "broken JSON: Expecting value", part: "broken JSON: Expecting value", count: 1, newest: 2 },
    ]);
  });

  it("have a part of their reason to ask for, which the reason has", () => {
    for (const reason of [
      "column 'temp': 'it is not warm' is not a number",
      "27000 d ahead of its arrival, the stream allows 1 h",
      "column 'a b': 99 does not fit into 64 bits",
      "late by 1 h 16 min",
      "anything",
    ]) {
      expect(reason).toContain(longestPart(withoutValues(reason)));
    }
  });
});

describe("answers", () => {
  it("keep the digits of long whole numbers", () => {
    const text =
      '{"id": 12345678901234567890, "more": [-9007199254740993, 9007199254740991], "s": ": 12345678901234567890 "}';
    expect(parseExact(text)).toEqual({
      id: "12345678901234567890",
      more: ["-9007199254740993", 9007199254740991],
      s: ": 12345678901234567890 ",
    });
    expect(parseExact('{"a": 0.12345678901234567890, "b": "\\"", "c": 12345678901234567890}')).toEqual({
      a: 0.12345678901234568,
      b: '"',
      c: "12345678901234567890",
    });
    expect(parseExact('{"a": 1.5}')).toEqual({ a: 1.5 });
  });
});

describe("readers", () => {
  it("are the queries whose SQL names the stream", () => {
    const queries = [
      { name: "a", sql: "SELECT * FROM readings r" },
      { name: "b", sql: "SELECT * FROM readings_old" },
      { name: "c", sql: "SELECT * FROM TUMBLE(Readings, ts, INTERVAL 10 SECONDS)" },
      { name: "d", sql: "SELECT 'readings' FROM alarms" },
    ];
    expect(readersOf("readings", queries)).toEqual(["a", "c"]);
    expect(readersOf("my stream", [{ name: "x", sql: "SELECT 1 FROM `my stream`" }])).toEqual(["x"]);
  });
});

describe("refusals of a stream", () => {
  it.each([
    ["", "the name of a stream 'a b!' is not a name", "name"],
    ["", "column 'x' of 'a' has no type 'foo'", "schema"],
    ["", "event time 'x' of 'a' is integer; declare it as timestamp", "event_time"],
    ["watermark", "watermark: it is not a duration", "watermark"],
    ["", "the source 'socket' uses what belongs to the server", "source"],
    ["", "the path '/x' is not one that the server may use over the network", "source"],
    ["", "the engine is starting", ""],
  ])("stand at their field: %s %s", (where, detail, field) => {
    expect(fieldOf({ where, detail })).toBe(field);
  });
});

describe("rates", () => {
  it("have a gap where nothing came for long, and do not grow without end", () => {
    let curve = extended({ at: [], rates: [] }, 100, 1);
    curve = extended(curve, 102, 2);
    expect(curve).toEqual({ at: [100, 102], rates: [1, 2] });
    curve = extended(curve, 200, 3);
    expect(curve.rates).toEqual([1, 2, null, 3]);
    for (let at = 202; at < 3000; at += 2) curve = extended(curve, at, 1);
    expect(curve.at.length).toBe(curve.rates.length);
    expect(curve.at.length).toBeLessThan(500);
  });
});
