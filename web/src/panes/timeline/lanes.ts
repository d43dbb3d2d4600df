/**
 * Bars that overlap in time, put under each other: each gets the first lane in which it covers no other. A bar keeps
 * its lane, whichever come later, so that nothing jumps. When all lanes are taken, bars share the last one.
 */
export class Lanes {
  private readonly lanes: { from: number; to: number }[][] = [];

  constructor(private readonly most: number) {}

  get count(): number {
    return this.lanes.length;
  }

  /** The lane of a bar, from 0. */
  place(from: number, to: number): number {
    for (let lane = 0; lane < this.lanes.length; lane += 1) {
      if (insertFree(this.lanes[lane]!, from, to)) return lane;
    }
    if (this.lanes.length < this.most) {
      this.lanes.push([{ from, to }]);
      return this.lanes.length - 1;
    }
    return this.most - 1;
  }

  /** Make a bar longer that was placed while its end was not known. */
  extend(lane: number, from: number, to: number): void {
    const bar = this.lanes[lane]?.find((one) => one.from === from);
    if (bar) bar.to = Math.max(bar.to, to);
  }

  /** Forget bars that ended before a moment. */
  drop(before: number): void {
    for (const lane of this.lanes) {
      let old = 0;
      while (old < lane.length && lane[old]!.to < before) old += 1;
      if (old) lane.splice(0, old);
    }
    while (this.lanes.length && !this.lanes[this.lanes.length - 1]!.length) this.lanes.pop();
  }
}

/** Put a bar into a lane that is sorted and has no overlaps, if there is room for it. */
function insertFree(lane: { from: number; to: number }[], from: number, to: number): boolean {
  const place = firstAfter(lane, (bar) => bar.from > from);
  if (place > 0 && lane[place - 1]!.to > from) return false;
  if (place < lane.length && lane[place]!.from < to) return false;
  lane.splice(place, 0, { from, to });
  return true;
}

/** The first place in a sorted list for which something holds, as it does for all that come behind. */
export function firstAfter<T>(sorted: readonly T[], holds: (one: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
