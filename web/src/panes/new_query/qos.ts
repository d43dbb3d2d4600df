/** Graphs of what a result is worth by how long it took: points of rising latency, worth from 0 to 1. */

import { duration, percent } from "../../lib/format";

export type Point = [latency: number, worth: number]; // seconds, of 1

const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));
const tidy = (value: number, places: number): number => Number(value.toFixed(places));

/** As precise as somebody can point at it. */
export function rounded([latency, worth]: Point, span: number): Point {
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.max(span, 1e-3))));
  return [tidy(latency, Math.min(6, places)), tidy(worth, 2)];
}

/** The graph with one more point, at its place by latency; and that place. */
export function withPoint(points: readonly Point[], point: Point): { points: Point[]; at: number } {
  const after = points.findIndex(([latency]) => latency > point[0]);
  const at = after < 0 ? points.length : after;
  return { points: [...points.slice(0, at), point, ...points.slice(at)], at };
}

/** The graph with a point moved; it stays between its neighbours, and worth between 0 and 1. */
export function movedPoint(points: readonly Point[], at: number, [latency, worth]: Point): Point[] {
  const low = points[at - 1]?.[0] ?? 0;
  const high = points[at + 1]?.[0] ?? Number.POSITIVE_INFINITY;
  return points.map((point, place) =>
    place === at ? [within(latency, Math.max(0, low), high), within(worth, 0, 1)] : point,
  );
}

/** The graph without a point; the last one stays. */
export const withoutPoint = (points: readonly Point[], at: number): Point[] =>
  points.length > 1 ? points.filter((_, place) => place !== at) : [...points];

/** A point halfway behind the last one, or beyond it. */
export function nextPoint(points: readonly Point[]): Point {
  const last = points.at(-1) ?? [0, 1];
  return [tidy(last[0] > 0 ? last[0] * 1.5 : 1, 3), last[1]];
}

export const SPANS: readonly number[] = [1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86_400];

/** The smallest width of the picture in which all points have room. */
export function spanFor(points: readonly Point[]): number {
  const last = points.at(-1)?.[0] ?? 0;
  return SPANS.find((span) => span >= last * 1.2) ?? last * 1.2;
}

/** What a graph means, in one sentence. */
export function meaning(points: readonly Point[]): string {
  if (!points.length) return "No graph: results are worth the same whenever they come.";
  const best = points[0]![1];
  const falls = points.findIndex(([, worth]) => worth < best);
  const [lastLatency, lastWorth] = points.at(-1)!;
  const full = best === 1 ? "all its worth" : `${percent(best)} of its worth`;
  if (points.some(([, worth], at) => worth > (points[at - 1]?.[1] ?? 1))) {
    return `A result is worth ${percent(best)} at once and ${percent(lastWorth)} from ${duration(lastLatency)} on, and more in between.`;
  }
  if (falls < 0) return `A result has ${full}, however long it takes.`;
  const deadline = points[falls - 1]![0];
  const early = deadline > 0 ? `A result within ${duration(deadline)} has ${full}` : `A result has ${full} at first`;
  const late = lastWorth === 0 ? "nothing" : percent(lastWorth);
  if (lastLatency === deadline) return `${early}, and after that it is worth ${late}.`;
  return `${early}; then it loses worth with every moment, and from ${duration(lastLatency)} on it is worth ${late}.`;
}
