/** One stream: what was declared, how it is doing, its rows and what could not become a row. */

import { useEffect } from "preact/hooks";
import { pathOf, post, remove } from "../../api/client";
import type { StreamDetails } from "../../api/types";
import { bytes, clock, count, duration, plural, rate } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { choose, go, place } from "../../lib/router";
import { parseSchema } from "../../lib/schema";
import { status } from "../../live/connection";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { Chart } from "../../ui/chart";
import { QueryLink } from "../../ui/marks";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { LettersPanel } from "./letters_panel";
import { SourceState } from "./list";
import { PushPanel } from "./push_panel";
import { curveOf } from "./rates";
import { useReaders } from "./readers";
import { BackfillPanel, ReadersPanel } from "./readers_panel";
import { SamplePanel } from "./sample_panel";

const EACH = 5000; // milliseconds between two looks at what the live status has not

const TABS = [
  ["rows", "Rows"],
  ["readers", "Queries that read it"],
  ["push", "Push rows"],
  ["dead", "Dead letters"],
] as const;

export function StreamPage({ name }: { name: string }) {
  const details = useAnswer<StreamDetails>(pathOf("streams", name), EACH);
  const readers = useReaders(name);
  const stream = details.data;
  useEffect(() => {
    document.title = `${name} · Streams · Headgate`;
  }, [name]);
  if (!stream) {
    return (
      <>
        <PageHead title={name} />
        {details.loading ? <Loading /> : <Missing details={details} />}
      </>
    );
  }
  const live = status.value?.streams?.[name];
  const dead = live?.dead_letters ?? stream.dead_letters;
  const tabs = TABS.filter(([tab]) => tab !== "push" || may("submit"));
  const asked = place.value.query.get("tab");
  const tab = tabs.find(([one]) => one === asked)?.[0] ?? "rows";
  const columns = parseSchema(stream.schema);
  return (
    <>
      <PageHead
        title={
          <>
            {name} <SourceState stream={{ finished: stream.finished, ...problemOf(stream) }} />
          </>
        }
        lead={
          <>
            A stream. <a href="/streams">All streams</a>
            {may("submit") && (
              <>
                {" · "}
                <a href={`/new?sql=${encodeURIComponent(`SELECT * FROM ${sqlName(name)}`)}`}>Write a query over it</a>
              </>
            )}
          </>
        }
        actions={<Endings stream={stream} readers={readers} reload={details.reload} />}
      />
      {stream.source_error && (
        <div class="problem" role="alert">
          Its source has failed: {stream.source_error}
        </div>
      )}
      <div class="columns">
        <Declared stream={stream} />
        <RatePanel name={name} now={live?.rate ?? stream.rate} />
      </div>
      <BackfillPanel readers={readers} />
      <div class="tabs" role="tablist" aria-label="Of this stream">
        {tabs.map(([one, title]) => (
          <button
            key={one}
            type="button"
            role="tab"
            aria-selected={tab === one}
            onClick={() => choose({ tab: one === "rows" ? null : one })}
          >
            {title}
            {one === "dead" && dead > 0 && ` (${count(dead)})`}
            {one === "readers" && readers.length > 0 && ` (${count(readers.length)})`}
          </button>
        ))}
      </div>
      {tab === "rows" && <SamplePanel name={name} columns={columns} kept={stream.tuples - stream.kept_from} />}
      {tab === "readers" && <ReadersPanel stream={stream} readers={readers} />}
      {tab === "push" && <PushPanel stream={stream} columns={columns} done={details.reload} />}
      {tab === "dead" && <LettersPanel name={name} total={dead} />}
    </>
  );
}

const sqlName = (name: string): string => (/^\w+$/.test(name) ? name : `\`${name}\``);

function problemOf(stream: StreamDetails): { error?: string; note?: string } {
  return {
    ...(stream.source_error && { error: stream.source_error }),
    ...(stream.source_note && { note: stream.source_note }),
  };
}

function Missing({ details }: { details: ReturnType<typeof useAnswer<StreamDetails>> }) {
  if (details.error?.status !== 404) return <ProblemBox problem={details.error} retry={details.reload} />;
  return (
    <Empty title="There is no such stream">
      <a href="/streams">Look at those that are there</a>
    </Empty>
  );
}

function Declared({ stream }: { stream: StreamDetails }) {
  const { slowest_reader: slowest } = stream;
  return (
    <Panel title="What was declared">
      <dl class="fact-list">
        <dt>Columns</dt>
        <dd>
          {parseSchema(stream.schema).map((column) => (
            <div key={column.name}>
              <code>{column.name}</code> <span class="quiet-text">{column.type}</span>
            </div>
          ))}
        </dd>
        <dt>Event time</dt>
        <dd>{stream.event_time ?? "none: no windows"}</dd>
        {stream.event_time && (
          <>
            <dt>Watermark</dt>
            <dd>{duration(stream.watermark)}: so late a row may be</dd>
            <dt>Ahead</dt>
            <dd>
              {stream.ahead === null ? "any event time" : `at most ${duration(stream.ahead)} ahead of its arrival`}
            </dd>
          </>
        )}
        <dt>Source</dt>
        <dd>{stream.source ? <code>{stream.source}</code> : "none: rows are pushed"}</dd>
        {stream.source_note && (
          <>
            <dt>Note</dt>
            <dd>{stream.source_note}</dd>
          </>
        )}
        <dt>Tuples</dt>
        <dd class="number">
          {count(stream.tuples)} ever, {count(stream.tuples - stream.kept_from)} kept
        </dd>
        <dt>Size</dt>
        <dd class="number">{bytes(stream.bytes)} on disk</dd>
        <dt>Slowest reader</dt>
        <dd>
          {slowest ? (
            <>
              <QueryLink name={slowest.query} />: {plural(slowest.tuples, "tuple")} behind, the oldest for{" "}
              {duration(slowest.oldest_wait)}
            </>
          ) : (
            "–"
          )}
        </dd>
      </dl>
    </Panel>
  );
}

function RatePanel({ name, now }: { name: string; now: number }) {
  const curve = curveOf(name);
  const lines = [{ name: "rate", values: curve.rates, colour: "var(--accent)", filled: false }];
  return (
    <Panel title="Rate" note={<span class="number">{rate(now)} now</span>}>
      {curve.at.length < 2 || !curve.rates.some((one) => one) ? (
        <p class="quiet-text chart-place">
          {curve.at.length < 2
            ? "It is drawn from when this page was opened: some seconds."
            : `No row has come since ${clock(curve.at[0])}, when this page was opened.`}
        </p>
      ) : (
        <Chart
          label={`Tuples per second of ${name} since this page was opened`}
          at={curve.at}
          lines={lines}
          format={rate}
        />
      )}
    </Panel>
  );
}

interface EndingsProps {
  stream: StreamDetails;
  readers: readonly string[];
  reload: () => void;
}

/** Finish and drop: both ask first, and say whom it concerns. */
function Endings({ stream, readers, reload }: EndingsProps) {
  if (!may("submit")) return null;
  const named =
    readers.length > 8 ? `${readers.slice(0, 8).join(", ")} and ${readers.length - 8} more` : readers.join(", ");
  const who = readers.length ? `Read by ${named}.` : "No query reads it.";
  return (
    <>
      {!stream.finished && (
        <Action
          run={() => post(pathOf("streams", stream.name, "finish")).then(reload)}
          done={`${stream.name} has ended.`}
          ask={{
            title: `Finish ${stream.name}?`,
            text: `It takes no more rows after that, and all its windows close. ${who}`,
            yes: "Finish it",
          }}
        >
          Finish
        </Action>
      )}
      <Action
        run={() => remove(pathOf("streams", stream.name)).then(() => go("/streams"))}
        done={`${stream.name} is gone.`}
        kind="danger"
        ask={{
          title: `Drop ${stream.name}?`,
          text: readers.length
            ? `${who} The server refuses this as long as a query reads it: remove those first.`
            : `Its ${plural(stream.tuples - stream.kept_from, "tuple")} and its dead letters are removed for good. ${who}`,
          yes: "Drop it for good",
        }}
      >
        Drop
      </Action>
    </>
  );
}
