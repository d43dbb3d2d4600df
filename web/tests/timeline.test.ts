import { describe, expect, it } from "vitest";
import type { Run, Runs } from "../src/api/types";
import { Lanes } from "../src/panes/timeline/lanes";
import { Moves, type Moving } from "../src/panes/timeline/moves";
import { compared, figure, titleOf } from "../src/panes/timeline/number_words";
import { barAt, runBand, waitBand } from "../src/panes/timeline/rows";
import { RunStore, WAIT_LANES } from "../src/panes/timeline/run_store";
import { aligned, COLUMN, crowded, shares } from "../src/panes/timeline/shares";
import { type Shown, settingsOf, shownOf } from "../src/panes/timeline/shown";
import { newestIn, summarised } from "../src/panes/timeline/summary";
import { clamped, KEPT, LEAST_SPAN, momentAt, ticks, xOf, zoomed } from "../src/panes/timeline/time_scale";
import { sinceFor } from "../src/panes/timeline/use_runs";

const run = (id: number, began: number, ended?: number, more: Partial<Run> = {}): Run => ({
  id,
  worker: 0,
  class: "critical",
  unit: `unit ${id}`,
  members: 1,
  tuples: 10,
  oldest: began - 1,
  began,
  ...(ended === undefined ? {} : { ended }),
  state: ended === undefined ? "running" : "done",
  ...more,
});

const answer = (runs: Run[], running: Run[] = [], more: Partial<Runs> = {}): Runs => ({
  runs,
  running,
  next: "cursor",
  at: 1000,
  from: 400,
  workers: 2,
  ...more,
});

const storeOf = (...runs: Run[]): RunStore => {
  const store = new RunStore();
  store.add(answer(runs), 60);
  return store;
};

const ids = (store: RunStore): number[] => store.bars.map((bar) => bar.run.id);

describe("the time scale", () => {
  const view = { from: 100, to: 160 };

  it("finds the moment of a point that it drew", () => {
    expect(xOf(130, view, 600)).toBe(300);
    expect(momentAt(xOf(117.3, view, 600), view, 600)).toBeCloseTo(117.3);
  });

  it("leaves the moment under the pointer where it is when it zooms", () => {
    const closer = zoomed(view, 0.5, 115);
    expect(closer.to - closer.from).toBeCloseTo(30);
    expect(xOf(115, closer, 600)).toBeCloseTo(xOf(115, view, 600));
  });

  it("zooms neither beyond what is kept nor below what can be seen", () => {
    const all = zoomed(view, 1000, 160);
    expect(all.to - all.from).toBe(KEPT);
    const least = zoomed(view, 1e-9, 160);
    expect(least.to - least.from).toBeCloseTo(LEAST_SPAN);
  });

  it("ends within what is known", () => {
    expect(clamped({ from: 150, to: 210 }, 0, 200)).toEqual({ from: 140, to: 200 });
    expect(clamped({ from: -500, to: -440 }, 0, 200)).toEqual({ from: -45, to: 15 });
  });

  it("names round moments that are far enough from each other", () => {
    const { step, at } = ticks(view, 600, 84);
    expect(step).toBe(10);
    expect(at).toEqual([100, 110, 120, 130, 140, 150, 160]);
    expect(ticks({ from: 0, to: 1 }, 600, 84).step).toBe(0.2);
  });
});

describe("lanes", () => {
  it("puts bars under each other only while they overlap", () => {
    const lanes = new Lanes(8);
    expect([lanes.place(0, 5), lanes.place(2, 4), lanes.place(4, 6), lanes.place(5, 7)]).toEqual([0, 1, 1, 0]);
  });

  it("finds room between bars that came before", () => {
    const lanes = new Lanes(8);
    lanes.place(0, 1);
    lanes.place(5, 6);
    expect(lanes.place(2, 4)).toBe(0);
    expect(lanes.place(3, 5.5)).toBe(1);
  });

  it("uses the last lane when all are taken", () => {
    const lanes = new Lanes(2);
    expect([lanes.place(0, 9), lanes.place(0, 9), lanes.place(0, 9)]).toEqual([0, 1, 1]);
    expect(lanes.count).toBe(2);
  });

  it("forgets what is over", () => {
    const lanes = new Lanes(8);
    for (let bar = 0; bar < 5; bar += 1) lanes.place(0, 10);
    lanes.drop(11);
    expect(lanes.count).toBe(0);
    expect(lanes.place(0, 10)).toBe(0);
  });
});

describe("the store of runs", () => {
  it("does not double a run that comes twice, and sorts by when they began", () => {
    const store = storeOf(run(2, 991, 993), run(1, 990, 994));
    store.add(answer([run(1, 990, 994), run(3, 995, 996)]));
    expect(ids(store)).toEqual([1, 2, 3]);
  });

  it("ends a run that was under way, in the same place", () => {
    const store = new RunStore();
    store.add(answer([], [run(1, 999)]), 60);
    const before = store.numbered(1)!;
    expect(before.freed).toBe(1000);
    store.add(answer([run(1, 999, 1000.5, { state: "cancelled" })], [], { at: 1001 }));
    expect(ids(store)).toEqual([1]);
    expect(store.numbered(1)).toBe(before);
    expect(before.run.state).toBe("cancelled");
    expect(before.freed).toBe(1000.5);
  });

  it("drops a run under way of which nothing more is told", () => {
    const store = new RunStore();
    store.add(answer([], [run(1, 999)]), 60);
    store.add(answer([], [], { at: 1001 }));
    expect(store.bars).toEqual([]);
    expect(store.numbered(1)).toBeUndefined();
  });

  it("tells runs of an engine that started anew from those before", () => {
    const store = storeOf(run(1, 990, 991));
    store.add(answer([run(1, 990, 991), run(1, 999, 999.5)]));
    expect(ids(store)).toEqual([1, 1]);
    expect(store.numbered(1)!.run.began).toBe(999);
  });

  it("keeps ten minutes", () => {
    const store = storeOf(run(1, 500, 501), run(2, 990, 991));
    expect(ids(store)).toEqual([1, 2]);
    store.add(answer([], [], { at: 1102 }));
    expect(ids(store)).toEqual([2]);
    expect(store.numbered(1)).toBeUndefined();
  });

  it("knows a worker to be free when it begins the next run", () => {
    const store = storeOf(run(1, 990, 992), run(2, 991.5, 993), run(3, 991, 995, { worker: 1 }));
    expect(store.bars.map((bar) => [bar.run.id, bar.freed])).toEqual([
      [1, 991.5],
      [3, 995],
      [2, 993],
    ]);
  });

  it("knows a worker to be free while results are being committed", () => {
    const store = storeOf(run(1, 990, 995, { evaluated: 991 }));
    expect(store.numbered(1)!.freed).toBe(991);
  });

  it("draws overlapping runs under each other where workers are not told", () => {
    const store = new RunStore(true);
    store.add(answer([run(1, 990, 992), run(2, 991, 993), run(3, 993, 994)]), 60);
    expect(store.bars.map((bar) => [bar.runLane, bar.freed])).toEqual([
      [0, 992],
      [1, 993],
      [0, 994],
    ]);
    expect(store.lanesOf(0)).toBe(2);
    expect(store.workers).toBe(1);
  });

  it("has a row for each of the workers that there are, whatever the numbers of runs", () => {
    expect(storeOf(run(1, 990, 991, { worker: 4 })).workers).toBe(2);
    expect(storeOf().workers).toBe(2);
  });

  it("puts a run on a worker that was free, also when that still committed another", () => {
    const store = storeOf(
      run(1, 990, 993, { evaluated: 991 }),
      run(2, 990, 995, { worker: 1, evaluated: 994 }),
      run(3, 991, 996, { worker: 2, evaluated: 995 }),
      run(4, 994, 997, { worker: 0, evaluated: 996 }),
    );
    expect(store.bars.map((bar) => bar.run.worker)).toEqual([0, 1, 0, 1]);
    store.add(answer([], [run(5, 995, undefined, { worker: 3 })]));
    store.add(answer([run(5, 995, 999, { worker: 3, evaluated: 998 })]));
    expect(store.bars.at(-1)!.run).toMatchObject({ id: 5, worker: 0, evaluated: 998 });
  });

  it("goes from run to run of a worker, and to other workers", () => {
    const store = storeOf(run(1, 990, 991), run(2, 990.5, 992, { worker: 1 }), run(3, 993, 994));
    const first = store.numbered(1)!;
    expect(store.neighbour(first, 1)!.run.id).toBe(3);
    expect(store.neighbour(first, -1)).toBeUndefined();
    expect(store.onWorker(1, 993)!.run.id).toBe(2);
    expect(store.onWorker(7, 993)).toBeUndefined();
  });

  it("takes in ten minutes of twenty runs a second, also when it gets the newest first", () => {
    const many = Array.from({ length: 12_000 }, (_, id) => run(id, 400 + id / 20, 400.1 + id / 20, { worker: id % 3 }));
    const store = new RunStore();
    store.add(answer(many.slice(10_800)), 60);
    store.add(answer(many), 600);
    expect(store.bars.length).toBe(12_000);
    expect(Math.max(...store.bars.map((bar) => bar.waitLane))).toBe(WAIT_LANES - 1);
  });
});

describe("what is asked for", () => {
  it("is a minute at first, then what is new, and more when somebody looks further back", () => {
    const store = new RunStore();
    expect(sinceFor(store, 1)).toBe(60);
    expect(sinceFor(store, 0)).toBe(KEPT);
    store.add(answer([]), 60);
    expect(sinceFor(store, 950)).toBeUndefined();
    expect(sinceFor(store, 900)).toBe(130);
    expect(sinceFor(store, 0)).toBe(KEPT);
  });

  it("is nothing earlier than what the server keeps", () => {
    const store = new RunStore();
    store.add(answer([], [], { from: 945 }), 60);
    expect(sinceFor(store, 0)).toBeUndefined();
  });
});

describe("what is at a point", () => {
  const rows = { workers: 2, classes: ["critical", "normal"] };
  const view = { from: 980, to: 1000 };
  const store = storeOf(
    run(1, 985, 990, { oldest: 982 }),
    run(2, 986, 987, { worker: 1, class: "normal", oldest: 985 }),
  );
  const at = (moment: number, y: number) => barAt(store, rows, view, 200, xOf(moment, view, 200), y)?.run.id;

  it("finds runs in the row of their worker", () => {
    const { top, height } = runBand(store.numbered(1)!, 1);
    expect(at(987, top + height / 2)).toBe(1);
    expect(at(993, top + height / 2)).toBeUndefined();
    expect(at(986.5, runBand(store.numbered(2)!, 1).top + 3)).toBe(2);
  });

  it("finds waits in the row of their class", () => {
    expect(at(983, waitBand(store.numbered(1)!, rows)!.top + 1)).toBe(1);
    expect(at(987, waitBand(store.numbered(1)!, rows)!.top + 1)).toBeUndefined();
  });

  it("forgives some pixels", () => {
    const { top } = runBand(store.numbered(1)!, 1);
    expect(at(990.2, top + 3)).toBe(1);
    expect(at(990.5, top + 3)).toBeUndefined();
  });

  it("draws no wait of a class that is gone", () => {
    expect(waitBand(storeOf(run(1, 990, 991, { class: "gone" })).bars[0]!, rows)).toBeNull();
  });
});

describe("shares of time", () => {
  it("adds up to the time that runs took", () => {
    const store = storeOf(run(1, 990, 991.5), run(2, 991.5, 993, { class: "normal" }));
    const view = { from: 990, to: 1000 };
    const [first] = shares(store.bars, view, 10 * COLUMN, 1000);
    expect([...first!.get("critical")!].slice(0, 3)).toEqual([1, 0.5, 0]);
    expect([...first!.get("normal")!].slice(0, 3)).toEqual([0, 0.5, 1]);
  });

  it("takes the place of runs only where they could not be told apart", () => {
    const store = storeOf(run(1, 990, 991), run(2, 991, 992));
    expect(crowded(store.bars, 1, 600)).toBe(false);
    expect(crowded(store.bars, 1, 6)).toBe(true);
  });

  it("has the same columns while the picture moves by less than one", () => {
    const one = aligned({ from: 1000, to: 1600 }, 600);
    expect(aligned({ from: 1000.5, to: 1600.5 }, 600)).toEqual(one);
  });
});

describe("a stretch in numbers", () => {
  it("tells runs, the workers' time and waits by class", () => {
    const store = storeOf(
      run(1, 989, 991),
      run(2, 992, 993, { oldest: 990 }),
      run(3, 994, 995, { state: "cancelled" }),
    );
    const [line] = summarised(store.bars, { from: 990, to: 1000 });
    expect(line).toMatchObject({ name: "critical", runs: 2, cancelled: 1, failed: 0, longestWait: 2 });
    expect(line!.busy).toBeCloseTo(3);
    expect(line!.meanWait).toBeCloseTo(1.5);
  });

  it("lists the newest runs of it", () => {
    const store = storeOf(run(1, 989, 991), run(2, 992, 993), run(3, 994, 995));
    expect(newestIn(store.bars, { from: 990, to: 1000 }, 5).map((bar) => bar.run.id)).toEqual([3, 2]);
    expect(newestIn(store.bars, { from: 980, to: 1000 }, 1).map((bar) => bar.run.id)).toEqual([3]);
  });
});

describe("the address", () => {
  it("says which stretch is shown", () => {
    for (const shown of [
      { end: null, span: 60 },
      { end: 1794912899.46, span: 10 },
    ]) {
      const settings = Object.entries(settingsOf(shown)).filter(([, value]) => value !== null) as [string, string][];
      expect(shownOf(new URLSearchParams(settings))).toEqual(shown);
    }
    expect(settingsOf({ end: null, span: 60 })).toEqual({ at: null, span: null });
  });

  it("may say nonsense", () => {
    expect(shownOf(new URLSearchParams("at=never&span=-4"))).toEqual({ end: null, span: 60 });
    expect(shownOf(new URLSearchParams("at=1e99"))).toEqual({ end: null, span: 60 });
    expect(shownOf(new URLSearchParams("span=1e99"))).toEqual({ end: null, span: KEPT });
  });
});

describe("numbers in words", () => {
  it("puts the winner's beside the runner-up's", () => {
    expect(compared({ "score 1": 12.5, wait: 0.21 }, { wait: 0.33, tickets: 3 })).toEqual([
      { key: "score 1", title: "Its score", winner: "12.5", runnerUp: "–" },
      { key: "wait", title: "Its oldest tuple had waited", winner: "210 ms", runnerUp: "330 ms" },
      { key: "tickets", title: "Its tickets in the draw", winner: "–", runnerUp: "3" },
    ]);
  });

  it("shows numbers that it does not know", () => {
    expect(titleOf("queue_weight")).toBe("Queue weight");
    expect(figure("queue_weight", 0.000123)).toBe("0.00012");
    expect(figure("queue_weight", 0)).toBe("0");
  });
});

describe("moving", () => {
  /** The timeline of runs 1 to 3 of worker 0 and run 4 of worker 1, as somebody moves in it. */
  const moving = (shown: Shown, id?: number) => {
    const store = storeOf(run(1, 950, 951), run(2, 980, 981), run(3, 990, 991), run(4, 985, 986, { worker: 1 }));
    const state = { shown, chosen: id };
    const at = (): Moving => ({
      live: { store, version: 1, error: null, edge: () => 1000 },
      shown: state.shown,
      chosen: state.chosen === undefined ? undefined : store.numbered(state.chosen),
      onShow: (next) => (state.shown = next),
      onChoose: (bar) => (state.chosen = bar?.run.id),
    });
    return { state, press: (key: string, shifted = false) => new Moves(at()).press(key, shifted) };
  };

  it("stays live when it zooms, and holds when it pans", () => {
    const { state, press } = moving({ end: null, span: 60 });
    press("+");
    expect(state.shown).toEqual({ end: null, span: 40 });
    press("ArrowLeft");
    expect(state.shown).toEqual({ end: 992, span: 40 });
    press("End");
    expect(state.shown.end).toBeNull();
  });

  it("does not go beyond the present", () => {
    const { state, press } = moving({ end: 999, span: 20 });
    press("ArrowRight");
    expect(state.shown.end).toBe(1000);
  });

  it("goes from run to run when one is chosen, and holds them in sight", () => {
    const { state, press } = moving({ end: null, span: 60 });
    press("Enter");
    expect(state).toEqual({ shown: { end: 1000, span: 60 }, chosen: 3 });
    press("ArrowLeft");
    expect(state.chosen).toBe(2);
    press("ArrowDown");
    expect(state.chosen).toBe(4);
    press("ArrowUp");
    expect(state.chosen).toBe(2);
    press("ArrowLeft", true);
    expect(state).toEqual({ shown: { end: 988, span: 60 }, chosen: 2 });
    press("Escape");
    expect(state.chosen).toBeUndefined();
  });

  it("shows a run that was out of sight", () => {
    const { state, press } = moving({ end: 1000, span: 20 }, 2);
    press("ArrowLeft");
    expect(state).toEqual({ shown: { end: 960, span: 20 }, chosen: 1 });
  });

  it("leaves other keys to the page", () => {
    const { press } = moving({ end: null, span: 60 });
    expect([press("Tab"), press("a"), press("+")]).toEqual([false, false, true]);
  });
});
