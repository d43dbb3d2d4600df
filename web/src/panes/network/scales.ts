/** What colours and widths mean. */

/** Colours by waiting tuples, the lightest first; each step is ten times as many. */
export const HEAT: readonly { from: number; text: string }[] = [
  { from: 0, text: "none" },
  { from: 1, text: "1 to 9" },
  { from: 10, text: "10 to 99" },
  { from: 100, text: "100 to 999" },
  { from: 1000, text: "1000 and more" },
];

/** The step of a number of waiting tuples, from 0. */
export function heat(waiting: number): number {
  for (let step = HEAT.length - 1; step > 0; step -= 1) if (waiting >= HEAT[step]!.from) return step;
  return 0;
}

/** The width of a line in pixels, by tuples per second: grows by the same for each ten times as many. */
export const lineWidth = (rate: number): number => Math.min(10, 1 + 1.7 * Math.log10(1 + Math.max(0, rate)));

export const RATES = [1, 10, 100, 1000]; // in the legend
