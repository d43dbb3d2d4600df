/** What may be written at a place in SQL: streams, tables, their columns, functions and words of the language. */

export interface SchemaColumn {
  name: string;
  type: string;
}

/** Streams and tables, each with its columns. */
export type Schema = Readonly<Record<string, readonly (string | SchemaColumn)[]>>;

export interface Offer {
  label: string;
  type: "class" | "property" | "function" | "keyword";
  detail?: string;
  boost: number; // larger ones come first
}

export const KEYWORDS =
  "select from where group by having as and or not in is null like rlike between case when then else end cast join " +
  "inner left on union all except distinct with interval true false asc filter tumble hop table descriptor";
export const TYPES =
  "int bigint smallint tinyint double float decimal string boolean timestamp date binary array map struct";
export const FUNCTIONS =
  "window count sum avg min max max_by min_by mode stddev variance collect_list collect_set sort_array " +
  "approx_count_distinct percentile abs round floor ceil sqrt power coalesce nullif if nvl upper lower trim concat " +
  "substring length replace split regexp_extract date_trunc year month day hour minute second unix_timestamp " +
  "named_struct struct array size array_contains get_json_object from_json to_json try_divide try_cast greatest least";

const words = (text: string): string[] => text.split(" ");

/** The name that an alias stands for in a text (`FROM readings r`), or the alias itself if it is a name. */
export function tableOf(alias: string, text: string, schema: Schema): string | undefined {
  const names = Object.keys(schema);
  const named = names.find((name) => name.toLowerCase() === alias.toLowerCase());
  const call = "(?:\\s*,[^()]*\\))?"; // TUMBLE(readings, …) r
  return (
    named ?? names.find((name) => new RegExp(`\\b${escaped(name)}\`?${call}\\s+(?:as\\s+)?${alias}\\b`, "i").test(text))
  );
}

/** What fits behind `before`, in a text of which it is the beginning. */
export function offersFor(before: string, text: string, schema: Schema): Offer[] {
  const dotted = /(\w+)\.\w*$/.exec(before);
  if (dotted) {
    const table = tableOf(dotted[1]!, text, schema);
    return table ? columnOffers(table, schema, 0) : windowOffers(dotted[1]!);
  }
  const wantsTable = /\b(?:from|join|tumble\s*\(|hop\s*\()\s+\w*$|\b(?:tumble|hop)\s*\(\s*\w*$/i.test(before);
  const tables = Object.keys(schema).map(
    (name): Offer => ({ label: name, type: "class", detail: "stream or table", boost: wantsTable ? 60 : 10 }),
  );
  if (wantsTable) return tables;
  const read = Object.keys(schema).filter((name) => new RegExp(`\\b${escaped(name)}\\b`, "i").test(text));
  const columns = (read.length ? read : Object.keys(schema)).flatMap((name) => columnOffers(name, schema, 40));
  return [
    ...unique(columns),
    ...tables,
    ...words(FUNCTIONS).map((label): Offer => ({ label, type: "function", boost: 0 })),
    ...words(KEYWORDS).map((label): Offer => ({ label: label.toUpperCase(), type: "keyword", boost: -10 })),
  ];
}

function columnOffers(table: string, schema: Schema, boost: number): Offer[] {
  return (schema[table] ?? []).map((column) => {
    const { name, type } = typeof column === "string" ? { name: column, type: "" } : column;
    return { label: name, type: "property", detail: type ? `${type}, ${table}` : table, boost };
  });
}

const windowOffers = (word: string): Offer[] =>
  word.toLowerCase() === "window"
    ? ["start", "end"].map((label) => ({ label, type: "property", detail: "of the window", boost: 0 }))
    : [];

function unique(offers: Offer[]): Offer[] {
  const seen = new Map<string, Offer>();
  for (const offer of offers) {
    const had = seen.get(offer.label);
    seen.set(offer.label, had ? { ...had, detail: `${had.detail}; ${offer.detail}` } : offer);
  }
  return [...seen.values()];
}

const escaped = (name: string): string => name.replace(/[^\w]/g, "\\$&");
