import { expect, test } from "vitest";
import { parts, readPolicy, readSettings, valueText, writePolicy } from "../src/lib/policy_text";

test("commas within brackets do not separate", () => {
  expect(parts("adaptive, candidates=[hnr, (bsd, clusters=4)], every=2")).toEqual([
    "adaptive",
    "candidates=[hnr, (bsd, clusters=4)]",
    "every=2",
  ]);
});

test("a policy that is read and written is the same", () => {
  for (const text of ["express", "bsd, clusters=12", "adaptive, candidates=[hnr, (bsd, clusters=4)], every=2"]) {
    const { name, settings } = readPolicy(text);
    expect(writePolicy(name, settings)).toBe(text);
  }
});

test("settings without a value are left out", () => {
  expect(writePolicy("bsd", { clusters: " ", sharing: " max " })).toBe("bsd, sharing=max");
  expect(readSettings("clusters=12, nonsense, =3")).toEqual({ clusters: "12" });
});

test("defaults are written as in a policy", () => {
  expect([valueText(0.99), valueText(true), valueText(["rr", "fifo"]), valueText(null)]).toEqual([
    "0.99",
    "true",
    "[rr, fifo]",
    "",
  ]);
});
