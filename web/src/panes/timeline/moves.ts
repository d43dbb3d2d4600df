/** Moving through time and from run to run, by wheel, keys and buttons. */

import { useEffect, useRef } from "preact/hooks";
import type { Bar } from "./run_store";
import type { Shown } from "./shown";
import { clamped, spanOf, type View, zoomed } from "./time_scale";
import type { LiveRuns } from "./use_runs";

const ZOOM = 1.5;
const PAN = 0.2; // of the span

/** What is shown, and how to show something else. */
export interface Moving {
  live: LiveRuns;
  shown: Shown;
  chosen: Bar | undefined;
  onShow: (shown: Shown) => void;
  onChoose: (bar: Bar | undefined) => void;
}

/** The stretch of time that is shown now. */
export const viewOf = ({ end, span }: Shown, edge: number): View => ({ from: (end ?? edge) - span, to: end ?? edge });

export class Moves {
  constructor(private readonly at: Moving) {}

  get view(): View {
    return viewOf(this.at.shown, this.at.live.edge());
  }

  private get isLive(): boolean {
    return this.at.shown.end === null;
  }

  /** Show a stretch and hold it, or follow what happens with as long a stretch. */
  show(view: View, follow = false): void {
    const { live, onShow } = this.at;
    const within = clamped(view, Math.min(live.store.keptFrom, live.edge()), live.edge());
    onShow({ end: follow ? null : within.to, span: spanOf(within) });
  }

  /** Show more or less time; a live picture stays live, a held one leaves `fixed` where it is. */
  zoom(factor: number, fixed?: number): void {
    const view = this.view;
    const middle = fixed ?? (view.from + view.to) / 2;
    this.show(zoomed(view, factor, this.isLive ? view.to : middle), this.isLive);
  }

  /** Move by a share of what is shown. */
  pan(share: number): void {
    const view = this.view;
    const by = spanOf(view) * share;
    this.show({ from: view.from + by, to: view.to + by });
  }

  /** Hold the picture, so that a chosen run does not leave it. */
  hold(): void {
    if (this.isLive) this.show(this.view);
  }

  /** Choose a run, and show it if it is not seen. */
  choose(bar: Bar | undefined): void {
    if (!bar) return;
    const view = this.view;
    const half = spanOf(view) / 2;
    const { began } = bar.run;
    if (began < view.from || began > view.to) this.show({ from: began - half, to: began + half });
    else this.hold();
    this.at.onChoose(bar);
  }

  /** Do what a key stands for; false if it stands for nothing. */
  press(key: string, shifted: boolean): boolean {
    const act = (shifted ? this.shiftedKeys()[key] : undefined) ?? this.keys()[key];
    act?.();
    return act !== undefined;
  }

  private shiftedKeys(): Record<string, () => void> {
    return { ArrowLeft: () => this.pan(-PAN), ArrowRight: () => this.pan(PAN) };
  }

  private keys(): Record<string, () => void> {
    const { live, chosen, shown, onShow, onChoose } = this.at;
    const { store } = live;
    const began = chosen?.run.began;
    const always = {
      "+": () => this.zoom(1 / ZOOM, began),
      "=": () => this.zoom(1 / ZOOM, began),
      "-": () => this.zoom(ZOOM, began),
      End: () => onShow({ ...shown, end: null }),
      Escape: () => onChoose(undefined),
    };
    if (!chosen) {
      const newest = () => store.bars.findLast((bar) => bar.run.began <= this.view.to);
      return { ...always, ...this.shiftedKeys(), Enter: () => this.choose(newest()) };
    }
    return {
      ...always,
      ArrowLeft: () => this.choose(store.neighbour(chosen, -1)),
      ArrowRight: () => this.choose(store.neighbour(chosen, 1)),
      ArrowUp: () => this.choose(store.onWorker(chosen.run.worker - 1, chosen.run.began)),
      ArrowDown: () => this.choose(store.onWorker(chosen.run.worker + 1, chosen.run.began)),
      Enter: () => this.choose(chosen),
    };
  }
}

/** Wheels over an element, which then do not scroll the page. */
export function useWheel(element: { current: HTMLElement | null }, turned: (event: WheelEvent) => void): void {
  const newest = useRef(turned);
  newest.current = turned;
  useEffect(() => {
    const on = element.current;
    const listen = (event: WheelEvent) => {
      if (event.ctrlKey) return; // the browser's own zoom
      event.preventDefault();
      newest.current(event);
    };
    on?.addEventListener("wheel", listen, { passive: false });
    return () => on?.removeEventListener("wheel", listen);
  }, [element]);
}
