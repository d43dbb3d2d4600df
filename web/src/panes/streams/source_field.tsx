/** Where the rows of a new stream come from: what belongs to the server is offered to those who may use it. */

import type { Column } from "../../api/types";
import { isNumeric, isText } from "../../lib/schema";
import { may } from "../../live/me";
import { Field } from "../../ui/field";

interface SourceProps {
  source: string;
  columns: readonly Column[];
  error: string | undefined;
  onChange: (source: string) => void;
}

interface Kind {
  title: string;
  text: (columns: readonly Column[]) => string;
  help: string;
  ofServer?: boolean; // it uses what belongs to the server
}

const KINDS: readonly Kind[] = [
  { title: "Pushed", text: () => "", help: "Rows are pushed: on the stream's page, or by programs." },
  {
    title: "Made-up rows",
    text: (columns) => ["poisson, rate=20", ...columns.flatMap(madeUp)].join(", "),
    help: "So many rows a second, at random moments; also constant, onoff and steps. A setting with a column's name says what is in it: a range of numbers, or a list of words.",
  },
  {
    title: "Files of a folder",
    ofServer: true,
    text: () => "directory, path=/data/incoming, pattern=*.csv",
    help: "Files are read as they appear: CSV with a header, JSON lines, Parquet. The server must have been started with --allow-path for the folder.",
  },
  {
    title: "A socket",
    ofServer: true,
    text: () => "socket, port=9999",
    help: "JSON lines over TCP, on the server's own machine. The server must have been started with --allow-connect 127.0.0.1:9999.",
  },
  {
    title: "A file played at some rate",
    ofServer: true,
    text: () => "constant, rate=100, file=/data/rows.csv",
    help: "The rows of a file, so many a second; with repeat=true without an end. The server must have been started with --allow-path for its folder.",
  },
];

function madeUp({ name, type }: Column): string[] {
  if (!/^\w+$/.test(name)) return [];
  if (isText(type)) return [`${name}=[oven, press, paint]`];
  return isNumeric(type) ? [`${name}=[0, 100]`] : [];
}

export function SourceField({ source, columns, error, onChange }: SourceProps) {
  const word = (text: string) => text.split(",")[0]!.trim();
  const fromFile = /\bfile=/.test(source);
  const made = /^(poisson|constant|onoff|steps|at)$/.test(word(source));
  const chosen =
    source === ""
      ? 0
      : Math.max(0, made ? (fromFile ? 4 : 1) : KINDS.findIndex((kind) => word(kind.text([])) === word(source)));
  return (
    <fieldset class="plain stack">
      <legend class="label">Where rows come from</legend>
      <div class="row">
        {KINDS.map(
          (kind, at) =>
            (!kind.ofServer || may("operate", { shared: true })) && (
              <button
                key={kind.title}
                type="button"
                class={`button ${at === chosen ? "on" : ""}`}
                aria-pressed={at === chosen}
                onClick={() => onChange(kind.text(columns))}
              >
                {kind.title}
              </button>
            ),
        )}
      </div>
      {source === "" ? (
        <p class="quiet-text">{KINDS[0]!.help}</p>
      ) : (
        <Field label="Source" hint={KINDS[chosen]!.help} {...(error && { error })}>
          <input class="mono" value={source} onInput={(event) => onChange(event.currentTarget.value)} />
        </Field>
      )}
    </fieldset>
  );
}
