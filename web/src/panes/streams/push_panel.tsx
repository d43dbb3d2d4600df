/** Push rows into a stream: typed into a form, written as text, or from files. */

import { useState } from "preact/hooks";
import type { Column, StreamDetails } from "../../api/types";
import { bytes, count, plural } from "../../lib/format";
import { choose, place } from "../../lib/router";
import { Panel } from "../../ui/panel";
import { tell } from "../../ui/toasts";
import { FileDrop } from "./file_drop";
import { type Kind, kindOf, kindOfText } from "./pieces";
import type { Progress } from "./push";
import { RowsForm } from "./rows_form";
import { cancelUpload, isGoing, startUpload, uploads } from "./uploads";

interface PushProps {
  stream: StreamDetails;
  columns: readonly Column[];
  done: () => void;
}

export function PushPanel({ stream, columns, done }: PushProps) {
  const how = place.value.query.get("how") === "text" ? "text" : "form";
  const push = async (name: string, blob: Blob, kind: Kind): Promise<boolean> => {
    const whole = await startUpload(stream.name, name, blob, kind);
    done();
    return whole;
  };
  const pushFiles = async (files: readonly File[]) => {
    for (const file of files) {
      const kind = kindOf(file.name);
      if (kind) await push(file.name, file, kind);
      else
        tell(`${file.name} is none of CSV (.csv), JSON lines (.jsonl, .ndjson, .json), Arrow (.arrow)`, { bad: true });
    }
  };

  if (stream.finished) {
    return (
      <Panel title="Push rows">
        <p class="quiet-text">This stream is finished: it takes no more rows.</p>
      </Panel>
    );
  }
  return (
    <Panel title="Push rows" note={stream.source ? "beside those of its source" : ""}>
      <div class="stack">
        <FileDrop onFiles={pushFiles} />
        <Uploads stream={stream.name} />
        <div class="row">
          {(["form", "text"] as const).map((one) => (
            <button
              key={one}
              type="button"
              class={`button ${how === one ? "on" : ""}`}
              aria-pressed={how === one}
              onClick={() => choose({ how: one === "form" ? null : one })}
            >
              {one === "form" ? "Row by row" : "As text"}
            </button>
          ))}
        </div>
        {how === "form" ? (
          <RowsForm columns={columns} push={(text) => push("rows typed here", new Blob([text]), "jsonl")} />
        ) : (
          <TextForm columns={columns} push={(text) => push("text typed here", new Blob([text]), kindOfText(text))} />
        )}
      </div>
    </Panel>
  );
}

const STATES: Record<Progress["state"], [kind: string, text: string]> = {
  sending: ["", "sending"],
  waiting: ["warn", "waiting"],
  done: ["good", "done"],
  failed: ["bad", "failed"],
  cancelled: ["warn", "cancelled"],
};

function Uploads({ stream }: { stream: string }) {
  const own = uploads.value.filter((one) => one.stream === stream);
  if (!own.length) return null;
  return (
    <ul class="uploads" aria-label="What was pushed">
      {own.map((one) => {
        const [kind, text] = STATES[one.state];
        const going = isGoing(one);
        return (
          <li key={one.id}>
            <span class="row">
              <strong>{one.name}</strong> <span class={`badge ${kind}`}>{text}</span>
              {going && one.of > 0 && <progress value={one.sent} max={one.of} aria-label={`Progress of ${one.name}`} />}
              {going && (
                <button type="button" class="button quiet" onClick={() => cancelUpload(one.id)}>
                  Cancel
                </button>
              )}
            </span>
            <span class="number" role={going ? undefined : "status"}>
              {plural(one.accepted, "row")} accepted, {count(one.rejected)} rejected
              {going && `, ${bytes(one.sent)} of ${bytes(one.of)}`}
              {one.rejected > 0 && (
                <>
                  {" "}
                  <button type="button" class="link" onClick={() => choose({ tab: "dead", reason: null })}>
                    see why
                  </button>
                </>
              )}
            </span>
            {one.problem && <span class={one.state === "failed" ? "bad-text" : "warn-text"}>{one.problem}</span>}
            {one.state === "failed" && one.accepted > 0 && (
              <span class="quiet-text">What was accepted before is in the stream.</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function TextForm({ columns, push }: { columns: readonly Column[]; push: (text: string) => Promise<boolean> }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const example = columns.map((column) => column.name).join(",");
  return (
    <div class="stack">
      <label class="field">
        <span class="label">Rows as CSV with a header, or as JSON lines</span>
        <textarea
          rows={8}
          value={text}
          spellcheck={false}
          placeholder={`${example}\n…`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="hint">
          {text.trim()
            ? kindOfText(text) === "csv"
              ? "Taken for CSV: its first line is the header."
              : "Taken for JSON."
            : "A file can hold more: drop it above."}
        </span>
      </label>
      <div class="row">
        <button
          type="button"
          class="button primary"
          disabled={busy || !text.trim()}
          onClick={async () => {
            setBusy(true);
            if (await push(text.endsWith("\n") ? text : `${text}\n`)) setText("");
            setBusy(false);
          }}
        >
          Push them
        </button>
      </div>
    </div>
  );
}
