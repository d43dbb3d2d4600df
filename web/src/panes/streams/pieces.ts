/** Cuts what is pushed into pieces that the server takes: at ends of rows, each with the header that it needs. */

export type Kind = "csv" | "jsonl" | "arrow";

export const TYPES: Record<Kind, string> = {
  csv: "text/csv",
  jsonl: "application/x-ndjson",
  arrow: "application/vnd.apache.arrow.stream",
};

export const PIECE = 2 * 1024 * 1024; // bytes: small enough for a progress that moves, and for proxies between
export const LARGEST = 64 * 1024 * 1024; // bytes that the server takes at once

export interface Piece {
  data: Uint8Array<ArrayBuffer>;
  end: number; // how many bytes of the file have been taken with it
}

const ENDINGS: readonly [RegExp, Kind][] = [
  [/\.csv$/i, "csv"],
  [/\.(jsonl|ndjson|json)$/i, "jsonl"],
  [/\.(arrow|arrows|feather|ipc)$/i, "arrow"],
];

/** What a file is by its name; null if that says nothing. */
export const kindOf = (name: string): Kind | null => ENDINGS.find(([ending]) => ending.test(name))?.[1] ?? null;

/** What a text is: JSON lines begin with an object, all else is CSV. */
export const kindOfText = (text: string): Kind => (/^\s*[{[]/.test(text) ? "jsonl" : "csv");

const NEWLINE = 10;
const QUOTE = 34;

/** The pieces of something of a kind; throws in words if it cannot be cut. */
export async function* piecesOf(blob: Blob, kind: Kind, size = PIECE): AsyncGenerator<Piece> {
  if (kind === "arrow") yield await wholeArrow(blob);
  else if (kind === "jsonl" && (await firstLetter(blob)) === "[") yield await fromList(blob);
  else yield* rowsOf(blob, kind === "csv", size);
}

async function* rowsOf(blob: Blob, isCsv: boolean, size: number): AsyncGenerator<Piece> {
  let header: Uint8Array | null = isCsv ? null : new Uint8Array();
  let rest = new Uint8Array();
  let taken = 0;
  for (let from = 0; from < blob.size || rest.length; from += size) {
    const read = new Uint8Array(await blob.slice(from, from + size).arrayBuffer());
    const last = from + size >= blob.size;
    let bytes = joined(rest, read);
    if (header === null) {
      const end = rowEnd(bytes, isCsv, "first");
      if (end < 0 && !last) {
        rest = tooLong(bytes);
        continue;
      }
      header = bytes.slice(0, end < 0 ? bytes.length : end);
      taken += header.length;
      bytes = bytes.slice(header.length);
    }
    const end = last ? bytes.length : rowEnd(bytes, isCsv, "last");
    if (end < 0) {
      rest = tooLong(bytes);
      continue;
    }
    rest = bytes.slice(end);
    taken += end;
    if (end > 0) yield { data: joined(header, bytes.slice(0, end)), end: taken };
    if (last) return;
  }
}

/** Behind the first or the last line end that is not within quotes; -1 if there is none. */
export function rowEnd(bytes: Uint8Array, isCsv: boolean, which: "first" | "last"): number {
  let quoted = false;
  let found = -1;
  for (let at = 0; at < bytes.length; at += 1) {
    if (isCsv && bytes[at] === QUOTE) quoted = !quoted;
    else if (bytes[at] === NEWLINE && !quoted) {
      found = at + 1;
      if (which === "first") break;
    }
  }
  return found;
}

function tooLong(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes.length > LARGEST) throw new Error(`a row is longer than ${LARGEST >> 20} MB: is a quote missing?`);
  return bytes;
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

async function firstLetter(blob: Blob): Promise<string> {
  const text = await blob.slice(0, 1000).text();
  return text.replace(/^\uFEFF/, "").trimStart()[0] ?? "";
}

/** A list of objects (`[{…}, {…}]`) as JSON lines. */
async function fromList(blob: Blob): Promise<Piece> {
  if (blob.size > LARGEST) throw new Error("a list of this size cannot be cut: write one object per line");
  let rows: unknown;
  try {
    rows = JSON.parse((await blob.text()).replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new Error(`it is no list of objects: ${error instanceof Error ? error.message : error}`);
  }
  const lines = (rows as unknown[]).map((row) => `${JSON.stringify(row)}\n`).join("");
  return { data: new TextEncoder().encode(lines), end: blob.size };
}

const MAGIC = "ARROW1";

/** An Arrow stream is sent as a whole; an Arrow file is one behind its first eight bytes. */
async function wholeArrow(blob: Blob): Promise<Piece> {
  if (blob.size > LARGEST) {
    throw new Error(`an Arrow file is sent as a whole, and may have ${LARGEST >> 20} MB: part it, or send CSV`);
  }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const isFile = new TextDecoder().decode(bytes.slice(0, MAGIC.length)) === MAGIC;
  return { data: isFile ? bytes.slice(8) : bytes, end: blob.size };
}
