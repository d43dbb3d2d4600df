/** The stretch of time that is shown, and where its moments are drawn. Moments are seconds since 1970. */

export interface View {
  from: number;
  to: number;
}

export const KEPT = 600; // seconds that the server keeps
export const LEAST_SPAN = 0.5;

export const spanOf = (view: View): number => view.to - view.from;

export const xOf = (moment: number, view: View, width: number): number =>
  ((moment - view.from) / (view.to - view.from)) * width;

export const momentAt = (x: number, view: View, width: number): number => view.from + (x / width) * spanOf(view);

export const clampSpan = (span: number): number => Math.min(KEPT, Math.max(LEAST_SPAN, span));

/** A longer or shorter stretch in which one moment stays where it is drawn. */
export function zoomed(view: View, factor: number, fixed: number): View {
  const span = clampSpan(spanOf(view) * factor);
  const share = (fixed - view.from) / spanOf(view);
  const from = fixed - share * span;
  return { from, to: from + span };
}

/** The stretch moved so that it ends within what is known; at the early end a part of it may be empty. */
export function clamped(view: View, earliest: number, latest: number): View {
  const span = spanOf(view);
  const to = Math.min(latest, Math.max(view.to, earliest + span / 4));
  return { from: to - span, to };
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300];

/** The moments that the axis names: round ones, at least `apart` pixels from each other. */
export function ticks(view: View, width: number, apart: number): { step: number; at: number[] } {
  const wanted = (spanOf(view) * apart) / Math.max(1, width);
  const step = STEPS.find((one) => one >= wanted) ?? STEPS[STEPS.length - 1]!;
  const at: number[] = [];
  for (let place = Math.ceil(view.from / step); place * step <= view.to; place += 1) at.push(place * step);
  return { step, at };
}

/** How many decimals of a second the moments of an axis with this step need. */
export const decimals = (step: number): number => (step >= 1 ? 0 : step >= 0.1 ? 1 : 2);
