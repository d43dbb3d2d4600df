import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect, connection, disconnect, onFailure, reconnections } from "../src/live/connection";

/** Stands for the browser's own: it does nothing by itself. */
class Source extends EventTarget {
  static opened: Source[] = [];
  closed = false;
  onerror: () => void = () => {};

  constructor(readonly url: string) {
    super();
    Source.opened.push(this);
  }

  close(): void {
    this.closed = true;
  }

  tell(kind: string, data: unknown): void {
    this.dispatchEvent(Object.assign(new Event(kind), { data: JSON.stringify(data) }));
  }
}

class Page extends EventTarget {
  hidden = false;

  show(shown: boolean): void {
    this.hidden = !shown;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

const newest = (): Source => Source.opened.at(-1)!;
const open = (): number => Source.opened.filter((one) => !one.closed).length;

describe("the live connection", () => {
  let page: Page;

  beforeEach(() => {
    vi.useFakeTimers();
    page = new Page();
    Source.opened = [];
    vi.stubGlobal("EventSource", Source);
    vi.stubGlobal("document", page);
    vi.stubGlobal("window", globalThis);
    connect();
    newest().tell("state", {});
  });

  afterEach(() => {
    disconnect();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("is given up by a page that stays hidden, and taken up again when that is seen", () => {
    const before = reconnections.value;
    page.show(false);
    vi.advanceTimersByTime(60_000);
    expect(open()).toBe(0);
    page.show(true);
    newest().tell("state", {});
    expect(open()).toBe(1);
    expect(reconnections.value).toBe(before + 1); // what was read before is old
    expect(connection.value.state).toBe("live");
  });

  it("outlasts a glance at another page", () => {
    page.show(false);
    vi.advanceTimersByTime(2000);
    page.show(true);
    vi.advanceTimersByTime(60_000);
    expect(Source.opened).toHaveLength(1);
    expect(open()).toBe(1);
  });

  it("is not kept by a page that was opened without being looked at", () => {
    page.hidden = true;
    connect();
    vi.advanceTimersByTime(60_000);
    expect(open()).toBe(0);
  });

  it("is tried again when it fails, and each time somebody asks why", () => {
    const asked = vi.fn();
    onFailure(asked);
    newest().onerror();
    expect(connection.value.state).toBe("lost");
    vi.advanceTimersByTime(500);
    newest().onerror();
    expect(asked).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1000);
    newest().tell("state", {});
    expect(connection.value.state).toBe("live");
  });
});
