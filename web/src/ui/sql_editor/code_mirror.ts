/** The editor itself, around CodeMirror; loaded when an editor is first shown. */

import { autocompletion, type CompletionContext, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { FUNCTIONS, KEYWORDS, offersFor, type Schema, TYPES } from "./completions";
import { type Diagnostic, markedRange } from "./marks";

export interface EditorSettings {
  label: string;
  value: string;
  schema: () => Schema; // asked whenever something is completed
  onChange: (value: string) => void;
  readOnly: boolean;
  hint: string;
}

export interface Editor {
  setValue: (value: string) => void;
  setDiagnostics: (found: readonly Diagnostic[]) => void;
  setReadOnly: (readOnly: boolean) => void;
  insert: (text: string) => void;
  focus: () => void;
  destroy: () => void;
}

const DIALECT = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  builtin: FUNCTIONS,
  backslashEscapes: true,
  doubleQuotedStrings: true,
  identifierQuotes: "`",
});

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--class-6)" },
  { tag: tags.comment, color: "var(--text-2)", fontStyle: "italic" },
]);

// CodeMirror marks errors by pictures in its style sheet, which the server's Content-Security-Policy forbids.
const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "0.95rem", borderRadius: "5px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto", maxHeight: "50vh" },
  ".cm-content, .cm-gutter": { minHeight: "var(--editor-height, 3em)" },
  ".cm-content": { caretColor: "var(--text)", padding: "6px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface-2)", color: "var(--text-2)", border: "0" },
  ".cm-placeholder": { color: "var(--text-2)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft) !important",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    backgroundColor: "var(--bad-soft)",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error::after": { borderBottomColor: "var(--bad)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
  },
  ".cm-tooltip .cm-diagnostic-error": { borderLeftColor: "var(--bad)", whiteSpace: "pre-wrap", maxWidth: "60ch" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-completionDetail": { opacity: "0.8" },
});

/** Make an editor in a shadow root. Tab moves on to what follows, as everywhere on the page. */
export function makeEditor(root: ShadowRoot, parent: Element, settings: EditorSettings): Editor {
  const locked = new Compartment();
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: settings.value,
      extensions: [extensions(settings), locked.of(lock(settings.readOnly))],
    }),
  });
  return {
    setValue: (value) => {
      if (value === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    setDiagnostics: (found) => view.dispatch(setDiagnostics(view.state, marks(view, found))),
    setReadOnly: (readOnly) => view.dispatch({ effects: locked.reconfigure(lock(readOnly)) }),
    insert: (text) => {
      view.dispatch(view.state.replaceSelection(text), { scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function extensions(settings: EditorSettings): Extension {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    sql({ dialect: DIALECT, upperCaseKeywords: true }),
    syntaxHighlighting(COLOURS),
    autocompletion({ override: [(context) => complete(context, settings.schema())], icons: false }),
    placeholder(settings.hint),
    keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": settings.label, spellcheck: "false" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) settings.onChange(update.state.doc.toString());
    }),
    THEME,
  ];
}

const lock = (readOnly: boolean): Extension => [
  EditorState.readOnly.of(readOnly),
  EditorView.contentAttributes.of({ "aria-readonly": String(readOnly) }),
];

function marks(view: EditorView, found: readonly Diagnostic[]) {
  const text = view.state.doc.toString();
  return found.map((one) => {
    const [from, to] = markedRange(text, one);
    return { from, to, severity: "error" as const, message: one.message };
  });
}

function complete(context: CompletionContext, schema: Schema) {
  const word = context.matchBefore(/\w*/);
  const before = context.state.sliceDoc(0, context.pos);
  if (!context.explicit && (!word || word.from === word.to) && !before.endsWith(".")) return null;
  const options = offersFor(before, context.state.doc.toString(), schema);
  return options.length ? { from: word?.from ?? context.pos, options, validFor: /^\w*$/ } : null;
}
