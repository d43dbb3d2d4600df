/** Tuples that a query could not process, and rows that its streams refused, which can be given to them again. */

import { useEffect, useRef } from "preact/hooks";
import { pathOf, post, withQuery } from "../../../api/client";
import type { DeadLetter, Page, QueryDetails, Replayed } from "../../../api/types";
import { clock, plural } from "../../../lib/format";
import { useAnswer } from "../../../lib/polling";
import { status } from "../../../live/connection";
import { may } from "../../../live/me";
import { Action } from "../../../ui/action";
import { type Column, DataTable } from "../../../ui/data_table";
import { StreamLink } from "../../../ui/marks";
import { Empty, Panel } from "../../../ui/panel";
import { Loading, ProblemBox } from "../../../ui/problem_box";
import { tell } from "../../../ui/toasts";
import { contentOf, placeOf, reasonsOf, replayedText } from "./letters";

const SHOWN = 100;
const EACH = 5000; // milliseconds

export function DeadLettersTab({ query }: { query: QueryDetails }) {
  const streams = query.streams.filter((stream) => stream in (status.value?.streams ?? {}));
  return (
    <>
      {streams.map((stream) => (
        <OwnLetters key={stream} query={query} stream={stream} />
      ))}
      {streams.map((stream) => (
        <RefusedRows key={stream} stream={stream} />
      ))}
    </>
  );
}

const COLUMNS: readonly Column<DeadLetter>[] = [
  { key: "arrival", title: "Arrived", value: (letter) => letter.arrival, show: (letter) => clock(letter.arrival) },
  { key: "reason", title: "Reason", value: (letter) => letter.reason, show: (letter) => letter.reason },
  { key: "place", title: "Where in the stream", show: (letter) => placeOf(letter) },
  { key: "row", title: "Row", show: (letter) => <code class="value">{contentOf(letter)}</code> },
];

/** Tuples of a stream on which the query has failed. */
function OwnLetters({ query, stream }: { query: QueryDetails; stream: string }) {
  const letters = useLetters(stream, query.name, query.dead_letters);
  const items = letters.data?.items ?? [];
  return (
    <Panel title={`Tuples of ${stream} on which it failed`} note={<More letters={letters.data} />}>
      {letters.loading && <Loading />}
      <ProblemBox problem={letters.error} retry={letters.reload} />
      {letters.data && !items.length && <Empty title="None" />}
      {items.length > 0 && (
        <>
          <p>
            These tuples are in the stream already, so a replay leaves them:{" "}
            {may("submit") ? <a href="?tab=replace">correct the query</a> : "the query must be corrected"}.
          </p>
          <Letters label={`Dead letters of ${query.name} from ${stream}`} letters={items} />
          <Replay stream={stream} reasons={reasonsOf(items)} done={letters.reload} />
        </>
      )}
    </Panel>
  );
}

/** Rows that a stream did not take, so that no query has seen them. */
function RefusedRows({ stream }: { stream: string }) {
  const letters = useLetters(stream, null, status.value?.streams?.[stream]?.dead_letters ?? 0);
  const items = (letters.data?.items ?? []).filter((letter) => !letter.query);
  return (
    <Panel
      title={`Rows that ${stream} refused`}
      note={
        <>
          no query has seen them · <StreamLink name={stream} />
        </>
      }
    >
      {letters.loading && <Loading />}
      <ProblemBox problem={letters.error} retry={letters.reload} />
      {letters.data && !items.length && <Empty title="None" />}
      {items.length > 0 && (
        <>
          <Letters label={`Dead letters of ${stream}`} letters={items} />
          <Replay stream={stream} reasons={reasonsOf(items)} done={letters.reload} />
        </>
      )}
    </Panel>
  );
}

/**
 * The newest letters of a stream, read again when there are more; not at once, since asking anew ends the question before,
 * and while letters come every second none would be answered.
 */
function useLetters(stream: string, query: string | null, known: number) {
  const path = pathOf("streams", stream, "dead-letters");
  const letters = useAnswer<Page<DeadLetter>>(withQuery(path, { query: query ?? undefined, limit: SHOWN }));
  const { reload } = letters;
  const newest = useRef(known);
  newest.current = known;
  useEffect(() => {
    let shown = newest.current;
    const timer = window.setInterval(() => {
      if (newest.current === shown) return;
      shown = newest.current;
      reload();
    }, EACH);
    return () => window.clearInterval(timer);
  }, [reload]);
  return letters;
}

function More({ letters }: { letters: Page<DeadLetter> | null }) {
  if (!letters?.items.length) return null;
  return <span>{letters.next ? `the newest ${SHOWN}` : plural(letters.items.length, "letter")}</span>;
}

function Letters({ label, letters }: { label: string; letters: readonly DeadLetter[] }) {
  return (
    <DataTable
      label={label}
      columns={COLUMNS}
      rows={letters}
      id={(letter) => `${letter.arrival} ${letter.reason} ${placeOf(letter)} ${contentOf(letter)}`}
    />
  );
}

function Replay({ stream, reasons, done }: { stream: string; reasons: readonly string[]; done: () => void }) {
  if (!may("submit")) return null;
  const replay = async (reason: string) => {
    tell(replayedText(await post<Replayed>(pathOf("streams", stream, "dead-letters", "replay"), { reason })));
    done();
  };
  return (
    <div class="row replay">
      <Action run={() => replay("")} title={`All dead letters of ${stream}`}>
        Replay all of {stream}
      </Action>
      {reasons.slice(0, 3).map((reason) => (
        <Action key={reason} kind="quiet" run={() => replay(reason)} title={reason}>
          <span class="reason">Replay “{reason}”</span>
        </Action>
      ))}
    </div>
  );
}
