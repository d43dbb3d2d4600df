/** The lines of a chart. */

export interface Line {
  name: string;
  values: readonly (number | null)[];
  colour: string; // a CSS variable, as var(--accent)
  dashed?: boolean;
  filled?: boolean;
  stepped?: boolean; // bars side by side: also a value without neighbours is seen
  told?: readonly (number | null)[]; // the values that the legend tells, if they are not those that are drawn
}

/** The places of values without neighbours, which no line shows. */
export function isolated(values: ArrayLike<number | null | undefined>): number[] {
  const known = (place: number) => values[place] !== null && values[place] !== undefined;
  return Array.from(values, (_, place) => place).filter(
    (place) => known(place) && !known(place - 1) && !known(place + 1),
  );
}

/** Bands on top of each other: each line's values become its own plus those before it; draw them last one first. */
export function stacked(lines: readonly Line[]): Line[] {
  const below: number[] = [];
  const made = lines.map((line) => ({
    ...line,
    filled: true,
    stepped: true,
    told: line.values,
    values: line.values.map((value, place) => {
      if (value === null) return null;
      below[place] = (below[place] ?? 0) + value;
      return below[place];
    }),
  }));
  return made.reverse();
}
