/** An axis of durations: where a value is, and which values are written beside it. */

export interface Scale {
  place: (value: number) => number; // 0 to 1
  ticks: number[];
}

/** A logarithmic axis over all values above 0. */
export function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const least = positive.length ? Math.min(...positive) : 0.1;
  const most = positive.length ? Math.max(...positive) : 1;
  const from = Math.log10(least) - 0.12;
  const to = Math.max(from + 0.5, Math.log10(most) + 0.12);
  const place = (value: number) => (value <= 0 ? 0 : clamp((Math.log10(value) - from) / (to - from)));
  const steps = to - from > 2.2 ? [1] : to - from > 1.1 ? [1, 3] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1) {
    for (const step of steps) {
      const tick = Number((step * 10 ** power).toPrecision(3));
      if (Math.log10(tick) >= from && Math.log10(tick) <= to) ticks.push(tick);
    }
  }
  return { place, ticks };
}

/** An axis from 0. */
export function linearScale(values: readonly number[]): Scale {
  const most = Math.max(0, ...values) * 1.06 || 1;
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let count = 0; count * step <= most; count += 1) ticks.push(Number((count * step).toPrecision(6)));
  return { place: (value) => clamp(value / most), ticks };
}

const clamp = (share: number): number => Math.min(1, Math.max(0, share));
