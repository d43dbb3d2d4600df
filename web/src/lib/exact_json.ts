/** JSON whose whole numbers are read as they are written: JavaScript's own numbers hold no more than 15 digits surely. */

const LONG = /(^|[\s:,[-])\d{16,}(?=[\s,\]}]|$)/; // there may be such a number
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** What `JSON.parse` reads, but whole numbers that would lose digits become texts. */
export function parseExact(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  return JSON.parse(
    text.replace(TOKENS, (token) =>
      /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
    ),
  );
}
