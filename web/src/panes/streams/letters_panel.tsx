/** What could not become a row of the stream, by reason; with replay. */

import { useState } from "preact/hooks";
import { get, pathOf, post, withQuery } from "../../api/client";
import type { DeadLetter, Page } from "../../api/types";
import { clock, count, plural } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { choose, place } from "../../lib/router";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { QueryLink } from "../../ui/marks";
import { Empty, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { byReason, content } from "./letters";

const MOST = 1000; // that are asked for at once
const PAGES = 20; // more, each time that older ones are asked for
const SHOWN = 50;

interface Replayed {
  taken: number;
  dead_again: Record<string, number>;
  left: Record<string, number>;
}

export function LettersPanel({ name, total }: { name: string; total: number }) {
  const reason = place.value.query.get("reason") ?? "";
  const path = pathOf("streams", name, "dead-letters");
  const all = useAnswer<Page<DeadLetter>>(`${path}?limit=${MOST}`);
  const older = useOlder(path, all.data);
  const chosen = useAnswer<Page<DeadLetter>>(reason ? withQuery(path, { limit: MOST, reason }) : null);
  const [outcome, setOutcome] = useState<Replayed | null>(null);
  const shown = reason ? chosen : all;
  const reload = () => {
    all.reload();
    chosen.reload();
  };
  const replay = async () => {
    setOutcome(await post<Replayed>(`${path}/replay`, reason ? { reason } : {}));
    reload();
  };
  const letters = shown.data?.items ?? [];
  const counted = [...(all.data?.items ?? []), ...older.letters];
  const more = older.next ? ` Reasons are counted among the newest ${count(counted.length)}.` : "";
  return (
    <Panel
      title="Dead letters"
      note={`${plural(total, "tuple")} that could not be processed.${more}`}
      actions={
        <>
          <button type="button" class="button" onClick={reload}>
            Look again
          </button>
          {may("submit") && letters.length > 0 && (
            <Action
              run={replay}
              ask={{
                title: reason ? "Replay these dead letters?" : "Replay all dead letters?",
                text: reason
                  ? `Those whose reason has “${reason}” are appended to ${name} again, with the checks of any append.`
                  : `All of them are appended to ${name} again, with the checks of any append.`,
                yes: "Replay them",
              }}
            >
              {reason ? "Replay these" : "Replay all"}
            </Action>
          )}
        </>
      }
    >
      <div class="stack">
        <ProblemBox problem={shown.error} retry={reload} />
        {outcome && <Outcome outcome={outcome} />}
        {all.loading && <Loading />}
        {all.data && !all.data.items.length && <Empty title="There are none">Every tuple could be processed.</Empty>}
        {all.data && all.data.items.length > 0 && (
          <>
            <Reasons letters={counted} chosen={reason} />
            {older.next && (
              <div class="row">
                <Action run={older.load} kind="quiet">
                  Count older ones, too
                </Action>
              </div>
            )}
            <label class="field">
              <span class="label">Only those whose reason has</span>
              <input
                type="search"
                value={reason}
                placeholder="any text"
                onInput={(event) => choose({ reason: event.currentTarget.value })}
              />
            </label>
            {!letters.length && !shown.loading && <p class="quiet-text">None has such a reason.</p>}
            {letters.length > 0 && <Letters letters={letters} />}
          </>
        )}
      </div>
    </Panel>
  );
}

/** Letters behind the first page, as far as somebody has asked for them. */
function useOlder(path: string, first: Page<DeadLetter> | null) {
  const [pages, setPages] = useState<{ of: typeof first; letters: readonly DeadLetter[]; next: string | null } | null>(
    null,
  );
  const own = pages?.of === first ? pages : null; // of an earlier first page, they do not go on from this one
  const load = async () => {
    let letters = own?.letters ?? [];
    let next = own ? own.next : (first?.next ?? null);
    for (let page = 0; next && page < PAGES; page += 1) {
      const found: Page<DeadLetter> = await get(withQuery(path, { limit: MOST, cursor: next }));
      letters = [...letters, ...found.items];
      next = found.next;
      setPages({ of: first, letters, next });
    }
  };
  return { letters: own?.letters ?? [], next: own ? own.next : (first?.next ?? null), load };
}

function Reasons({ letters, chosen }: { letters: readonly DeadLetter[]; chosen: string }) {
  return (
    <ul class="reasons">
      {byReason(letters).map((one) => {
        const on = chosen !== "" && chosen === one.part;
        return (
          <li key={one.label}>
            <button
              type="button"
              class={`button ${on ? "on" : ""}`}
              aria-pressed={on}
              title={`The newest at ${clock(one.newest)}`}
              onClick={() => choose({ reason: on ? null : one.part })}
            >
              <strong class="number">{count(one.count)}</strong> {one.label}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function Letters({ letters }: { letters: readonly DeadLetter[] }) {
  return (
    <section class="table-box" aria-label="Dead letters">
      <table>
        <thead>
          <tr>
            <th scope="col">Arrived</th>
            <th scope="col">Reason</th>
            <th scope="col">What it was</th>
          </tr>
        </thead>
        <tbody>
          {letters.slice(0, SHOWN).map((letter, at) => (
            <tr key={`${letter.arrival} ${at}`}>
              <td class="number">{clock(letter.arrival)}</td>
              <td class="wrap">
                {letter.reason}
                {letter.query && (
                  <div class="quiet-text">
                    in <QueryLink name={letter.query} />
                  </div>
                )}
              </td>
              <td class="wrap">
                <code>{content(letter).slice(0, 500)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {letters.length > SHOWN && (
        <p class="quiet-text">
          The newest {SHOWN} of {count(letters.length)} are shown.
        </p>
      )}
    </section>
  );
}

function Outcome({ outcome }: { outcome: Replayed }) {
  const again = Object.entries(outcome.dead_again);
  const left = Object.entries(outcome.left);
  return (
    <div class="notice" role="status">
      {plural(outcome.taken, "tuple is a row", "tuples are rows")} of the stream now.
      {again.length > 0 && (
        <div>
          Dead again:{" "}
          {again
            .map(([reason, number]) => `${count(number)} (${reason})`)
            .slice(0, 5)
            .join("; ")}
          {again.length > 5 && ` and ${again.length - 5} reasons more`}.
        </div>
      )}
      {left.length > 0 && (
        <div>
          Could not be replayed:{" "}
          {left
            .map(([reason, number]) => `${count(number)} (${reason})`)
            .slice(0, 5)
            .join("; ")}
          .
        </div>
      )}
    </div>
  );
}
