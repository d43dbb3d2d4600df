/** Who would gain and who would lose by another priority, while a slider moves. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../../../api/client";
import type { Preview } from "../../../api/deciding_types";
import { previewed } from "../../../lib/replays";

const CALM = 250; // milliseconds without a movement before something is asked

export interface SliderPreview {
  value: number | null; // the priority that `answer` or `problem` is about
  answer: Preview | null; // it stays until the next one has come
  problem: Problem | null;
  busy: boolean; // the server answers another question first
}

const NOTHING: SliderPreview = { value: null, answer: null, problem: null, busy: false };

/**
 * What another priority of a class would lead to; nothing is asked while `value` is null. There is one question at a
 * time, since the server answers only one, and the next one is always about the newest value.
 */
export function useSliderPreview(name: string, value: number | null): SliderPreview {
  const [now, setNow] = useState<SliderPreview>(NOTHING);
  const wanted = useRef<number | null>(value);
  const asking = useRef<AbortController | null>(null);
  wanted.current = value;

  const ask = async () => {
    const abort = new AbortController();
    asking.current = abort;
    const about = wanted.current!;
    const told: SliderPreview = { ...NOTHING, value: about };
    try {
      const onBusy = () => setNow((before) => ({ ...before, busy: true }));
      told.answer = await previewed({ priorities: { [name]: about } }, abort.signal, onBusy);
    } catch (error) {
      told.problem = error instanceof Problem ? error : new Problem(0, String(error));
    }
    if (abort.signal.aborted) return;
    asking.current = null;
    setNow(wanted.current === null ? NOTHING : told);
    if (wanted.current !== null && wanted.current !== about) void ask();
  };

  useEffect(() => {
    if (value === null) {
      setNow(NOTHING);
      return;
    }
    const timer = window.setTimeout(() => !asking.current && void ask(), CALM);
    return () => window.clearTimeout(timer);
  }, [name, value]);
  useEffect(() => () => asking.current?.abort(), [name]);
  return now;
}
