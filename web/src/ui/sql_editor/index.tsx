/** A field for SQL with colours, completion and marked errors. Until its code is loaded it is a plain field. */

import { useEffect, useRef, useState } from "preact/hooks";
import { cssVariables } from "../marks";
import type { Editor } from "./code_mirror";
import type { Schema } from "./completions";
import type { Diagnostic } from "./marks";
import "./sql_editor.css";

export type { Schema } from "./completions";
export { type Diagnostic, toDiagnostic } from "./marks";

/** What others may do with an editor. */
export interface EditorControl {
  insert: (text: string) => void; // where the cursor is
  focus: () => void;
}

export interface SqlEditorProps {
  value: string;
  onChange?: (value: string) => void;
  label: string; // for those who cannot see what it is
  schema?: Schema; // streams and tables with their columns, for completion
  diagnostics?: readonly Diagnostic[];
  readOnly?: boolean;
  hint?: string; // shown while it is empty
  lines?: number; // as high as so many, at least
  control?: { current: EditorControl | null };
}

const NOTHING: Schema = {};
const NONE: readonly Diagnostic[] = [];

export function SqlEditor(props: SqlEditorProps) {
  const { value, label, diagnostics = NONE, readOnly = false, hint = "", lines = 4, control } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const newest = useRef(props);
  newest.current = props;
  const told = useRef<string[]>([]); // what was typed, until it comes back as the value
  const [ready, setReady] = useState(false);

  useEffect(() => {
    let gone = false;
    void import("./code_mirror").then(({ makeEditor }) => {
      if (gone || !host.current) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      const inner = document.createElement("div");
      root.replaceChildren(inner);
      const made = makeEditor(root, inner, {
        label,
        value: newest.current.value,
        schema: () => newest.current.schema ?? NOTHING,
        onChange: (text) => {
          told.current.push(text);
          newest.current.onChange?.(text);
        },
        readOnly: newest.current.readOnly ?? false,
        hint,
      });
      editor.current = made;
      if (control) control.current = made;
      setReady(true);
    }, noEditor);
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
      if (control) control.current = null;
    };
  }, [label, hint]);

  useEffect(() => {
    const known = told.current.lastIndexOf(value);
    if (known >= 0)
      told.current.splice(0, known + 1); // its own; more may have been typed since
    else {
      editor.current?.setValue(value);
      told.current = [];
    }
  }, [value, ready]);
  useEffect(() => editor.current?.setDiagnostics(diagnostics), [diagnostics, ready]);
  useEffect(() => editor.current?.setReadOnly(readOnly), [readOnly, ready]);

  return (
    <div class="sql-editor" style={cssVariables({ "--editor-height": `${lines * 1.5}em` })}>
      <div ref={host} />
      {!ready && (
        <textarea
          aria-label={label}
          value={value}
          rows={lines}
          placeholder={hint}
          readOnly={readOnly}
          spellcheck={false}
          onInput={(event) => props.onChange?.(event.currentTarget.value)}
        />
      )}
    </div>
  );
}

/** The plain field stays: it does all that is needed. */
function noEditor(): void {}
