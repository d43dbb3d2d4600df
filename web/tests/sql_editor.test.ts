import { describe, expect, it } from "vitest";
import { offersFor, tableOf } from "../src/ui/sql_editor/completions";
import { markedRange, toDiagnostic } from "../src/ui/sql_editor/marks";

const SCHEMA = { readings: [{ name: "temp", type: "double" }, "ts"], alarms: ["level", "ts"] };
const labels = (before: string, text = before) => offersFor(before, text, SCHEMA).map((offer) => offer.label);

describe("completion", () => {
  it("offers streams and tables alone behind FROM and JOIN", () => {
    expect(labels("SELECT * FROM ")).toEqual(["readings", "alarms"]);
    expect(labels("SELECT * FROM readings r JOIN al")).toEqual(["readings", "alarms"]);
    expect(labels("SELECT count(*) FROM TUMBLE(")).toEqual(["readings", "alarms"]);
  });

  it("offers the columns of what is read, once each", () => {
    const found = labels("SELECT ", "SELECT  FROM alarms");
    expect(found.slice(0, 2)).toEqual(["level", "ts"]);
    expect(found).not.toContain("temp");
    expect(labels("SELECT ").filter((label) => label === "ts")).toHaveLength(1);
  });

  it("offers the columns of an alias or a name behind a dot", () => {
    expect(labels("SELECT r.", "SELECT r. FROM readings r")).toEqual(["temp", "ts"]);
    expect(labels("SELECT r.", "SELECT r. FROM readings AS r")).toEqual(["temp", "ts"]);
    expect(labels("SELECT alarms.le", "SELECT alarms.le FROM alarms")).toEqual(["level", "ts"]);
    expect(labels("SELECT window.")).toEqual(["start", "end"]);
    expect(labels("SELECT other.")).toEqual([]);
  });

  it("says the type beside a column", () => {
    expect(offersFor("SELECT readings.", "", SCHEMA)[0]?.detail).toBe("double, readings");
  });

  it("finds names whatever their case", () => {
    expect(tableOf("R", "FROM READINGS r", SCHEMA)).toBe("readings");
    expect(tableOf("nobody", "FROM readings r", SCHEMA)).toBeUndefined();
  });
});

describe("marks", () => {
  it("reads the place from the server's words, and leaves it out of the message", () => {
    const where = "line 2, column 14";
    expect(toDiagnostic({ detail: `${where}: unknown column 'x'`, where })).toEqual({
      message: "unknown column 'x'",
      line: 2,
      column: 14,
    });
    expect(toDiagnostic({ detail: "no", where: "name" })).toBeNull();
    expect(toDiagnostic(null)).toBeNull();
  });

  it("marks the word at a place", () => {
    const text = "SELECT a\nFROM nowhere x";
    const [from, to] = markedRange(text, { line: 2, column: 6 });
    expect(text.slice(from, to)).toBe("nowhere");
  });

  it("counts characters as the server does: an emoji is one", () => {
    const text = "SELECT '🎉🎉ü', wrong FROM b";
    const [from, to] = markedRange(text, { line: 1, column: 15 });
    expect(text.slice(from, to)).toBe("wrong");
  });

  it("stays within the text wherever the place is", () => {
    for (const text of ["", "a", "a\n", "SELECT a\n  FROM b"]) {
      for (const line of [0, 1, 2, 9]) {
        for (const column of [0, 1, 5, 99]) {
          const [from, to] = markedRange(text, { line, column });
          expect(from).toBeGreaterThanOrEqual(0);
          expect(to).toBeGreaterThanOrEqual(from);
          expect(to).toBeLessThanOrEqual(text.length);
        }
      }
    }
  });
});
