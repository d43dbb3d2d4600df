/** Descriptions of policies, taken apart: paragraphs, lists, examples, and code within a line. */

export type Block =
  | { kind: "text"; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "example"; lines: string[] };

export interface Piece {
  text: string;
  code: boolean;
}

/** The blocks of a description: those between empty lines. */
export function blocks(description: string): Block[] {
  return description
    .split(/\n\s*\n/)
    .map((block) => block.trim())
    .filter(Boolean)
    .map(blockOf);
}

function blockOf(text: string): Block {
  if (text.startsWith(">>>")) return { kind: "example", lines: text.split("\n") };
  if (/^[*-] /.test(text)) {
    // the items may have been joined to one line: the next one follows the end of a clause
    const items = text.slice(2).split(/(?:\n|(?<=[;.,:]) )[*-] /);
    return { kind: "list", items: items.map((item) => item.trim().replace(/;$/, "")) };
  }
  return { kind: "text", text: text.replace(/\s*\n\s*/g, " ") };
}

/** A line with its code apart: what is between back-quotes. */
export function pieces(text: string): Piece[] {
  return text
    .split(/(`[^`]+`)/)
    .filter(Boolean)
    .map((part) =>
      part.length > 2 && part.startsWith("`") && part.endsWith("`")
        ? { text: part.slice(1, -1), code: true }
        : { text: part, code: false },
    );
}
