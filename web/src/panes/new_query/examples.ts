/** Queries to begin with, made from the streams that are there. */

import type { Readable } from "../../lib/catalog";
import { isNumeric, isText, isTime, quoted } from "../../lib/schema";

export interface Example {
  title: string;
  name: string;
  sql: string;
}

const FEW = 6;

/** A filter and a window of the first streams, and a join with a table if there is one that fits. */
export function examplesFor(readable: readonly Readable[]): Example[] {
  const streams = readable.filter((one) => one.kind === "stream");
  const found = streams.flatMap((stream) => [filter(stream), window(stream)]);
  const table = readable.find((one) => one.kind === "table");
  const joins = table ? streams.map((stream) => join(stream, table)) : [];
  return [...joins.slice(0, 1), ...found].filter((one) => one !== null).slice(0, FEW);
}

function filter(stream: Readable): Example {
  const number = stream.columns.find((column) => isNumeric(column.type));
  const text = stream.columns.find((column) => isText(column.type));
  const shown = stream.columns.slice(0, 4).map((column) => quoted(column.name));
  const condition = number
    ? `${quoted(number.name)} > 50`
    : `${quoted((text ?? stream.columns[0])?.name ?? "")} IS NOT NULL`;
  return {
    title: `Rows of ${stream.name} that meet a condition`,
    name: `${plainName(stream.name)}-filtered`,
    sql: `SELECT ${shown.join(", ")}\nFROM ${quoted(stream.name)}\nWHERE ${condition}`,
  };
}

function window(stream: Readable): Example | null {
  const time = stream.eventTime;
  if (!time) return null;
  const key = stream.columns.find((column) => isText(column.type));
  const number = stream.columns.find((column) => isNumeric(column.type));
  const selected = ["window.start AS since", ...(key ? [quoted(key.name)] : []), "count(*) AS n"];
  if (number) selected.push(`avg(${quoted(number.name)}) AS mean`);
  const by = [`window(${quoted(time)}, '10 seconds')`, ...(key ? [quoted(key.name)] : [])];
  return {
    title: `${stream.name} every 10 seconds${key ? `, by ${key.name}` : ""}`,
    name: `${plainName(stream.name)}-every-10-s`,
    sql: `SELECT ${selected.join(", ")}\nFROM ${quoted(stream.name)}\nGROUP BY ${by.join(", ")}`,
  };
}

function join(stream: Readable, table: Readable): Example | null {
  const shared = stream.columns.find(
    (column) =>
      !isTime(column.type) && table.columns.some((one) => one.name === column.name && one.type === column.type),
  );
  const more = table.columns.find((column) => column.name !== shared?.name);
  if (!shared || !more) return null;
  const key = quoted(shared.name);
  return {
    title: `${stream.name} with what ${table.name} says of each ${shared.name}`,
    name: `${plainName(stream.name)}-with-${plainName(table.name)}`,
    sql: `SELECT s.*, t.${quoted(more.name)}\nFROM ${quoted(stream.name)} s\nJOIN ${quoted(table.name)} t ON s.${key} = t.${key}`,
  };
}

const plainName = (name: string): string => name.replace(/[^\w.-]+/g, "-");
