/** Define a stream: its columns, its event time, and where rows come from. */

import { useRef, useState } from "preact/hooks";
import { Problem, post } from "../../api/client";
import type { Column, StreamDetails } from "../../api/types";
import { newKey } from "../../lib/keys";
import { go, streamPath } from "../../lib/router";
import { isTime, parseSchema, schemaText } from "../../lib/schema";
import { may } from "../../live/me";
import { Field } from "../../ui/field";
import { Panel } from "../../ui/panel";
import { ProblemBox } from "../../ui/problem_box";
import { tell } from "../../ui/toasts";
import { SchemaRows } from "./schema_rows";
import { SourceField } from "./source_field";
import { fieldOf } from "./stream_fields";

const FIRST: Column[] = [
  { name: "id", type: "bigint" },
  { name: "value", type: "double" },
  { name: "ts", type: "timestamp" },
];

export function DefineStream({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [columns, setColumns] = useState<Column[]>(FIRST);
  const [text, setText] = useState<string | null>(null); // the schema as text, while that is what is edited
  const [eventTime, setEventTime] = useState("ts");
  const [watermark, setWatermark] = useState("5 s");
  const [ahead, setAhead] = useState("");
  const [source, setSource] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const sent = useRef({ text: "", key: "" }); // sent again, it is the same request

  const now = text === null ? columns : parseSchema(text);
  const times = now.filter((column) => isTime(column.type)).map((column) => column.name);
  const time = times.includes(eventTime) ? eventTime : "";
  const field = problem ? fieldOf(problem) : "";
  const error = (of: string) => (problem && field === of ? { error: problem.detail } : {});

  const create = async () => {
    const body = {
      name: name.trim(),
      schema: text ?? schemaText(columns),
      ...(time && { event_time: time }),
      ...(time && watermark.trim() && { watermark: watermark.trim() }),
      ...(time && ahead.trim() && { ahead: ahead.trim() }),
      ...(source.trim() && { source: source.trim() }),
    };
    const said = JSON.stringify(body);
    if (sent.current.text !== said) sent.current = { text: said, key: newKey() };
    setBusy(true);
    setProblem(null);
    try {
      await post<StreamDetails>("/v1/streams", body, { headers: { "Idempotency-Key": sent.current.key } });
      tell(`${body.name} is there.`);
      go(streamPath(body.name));
    } catch (failed) {
      setProblem(failed instanceof Problem ? failed : new Problem(0, String(failed)));
      sent.current.text = failed instanceof Problem && failed.status === 0 ? said : ""; // a refusal may not hold later
    } finally {
      setBusy(false);
    }
  };

  return (
    <Panel
      title="Define a stream"
      actions={
        <button type="button" class="button quiet" onClick={close}>
          Close
        </button>
      }
    >
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field label="Name" hint="Queries read it by this name: FROM readings" {...error("name")}>
          <input value={name} required placeholder="readings" onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <SchemaRows
          columns={columns}
          text={text}
          error={field === "schema" ? problem?.detail : undefined}
          onColumns={setColumns}
          onText={(to) => {
            if (to === null && text !== null) setColumns(parseSchema(text));
            setText(to);
          }}
        />
        <div class="form-grid">
          <Field
            label="Event time"
            hint={
              times.length
                ? "The timestamp column that windows go by"
                : "Windows need a column of the type timestamp; there is none"
            }
            {...error("event_time")}
          >
            <select value={time} onChange={(event) => setEventTime(event.currentTarget.value)}>
              <option value="">none: no windows</option>
              {times.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </Field>
          {time && (
            <>
              <Field
                label="Watermark"
                hint="How late a row may be. Windows wait so long for it, and so do their results"
                {...error("watermark")}
              >
                <input value={watermark} placeholder="0 s" onInput={(e) => setWatermark(e.currentTarget.value)} />
              </Field>
              <Field
                label="Ahead"
                hint="How far its event time may be ahead of a row's arrival; beyond that it is a dead letter"
                {...error("ahead")}
              >
                <input value={ahead} placeholder="1 h" onInput={(event) => setAhead(event.currentTarget.value)} />
              </Field>
            </>
          )}
        </div>
        {may("submit", { shared: true }) ? (
          <SourceField source={source} columns={now} error={error("source").error} onChange={setSource} />
        ) : (
          <p class="quiet-text">Its rows are pushed: on its page, or by programs.</p>
        )}
        {problem && !field && <ProblemBox problem={problem} />}
        <div class="row">
          <button type="submit" class="button primary" disabled={busy || !name.trim() || !now.length}>
            {busy ? "Defining…" : "Define the stream"}
          </button>
        </div>
      </form>
    </Panel>
  );
}
