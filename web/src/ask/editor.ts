// The SQL editor, a separate bundle: it is loaded when somebody writes SQL, and never part of a report.

import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Editor, EditorOptions } from "./field";

// The page's own colours, so that both themes fit.
const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--panel)", fontSize: "13.5px", height: "100%" },
  ".cm-content": { fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace', caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", border: "none" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionInfo": { maxWidth: "360px", whiteSpace: "normal" },
  ".cm-placeholder": { color: "var(--muted)" },
});
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--warn)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--muted)" },
]);

/** Completion of SQL with the tables and columns of the catalogue. */
function language(tables: EditorOptions["tables"]) {
  const schema: Record<string, Completion[]> = {};
  for (const table of tables) {
    schema[table.name] = table.columns.map((c) => ({ label: c.name, type: "property", detail: c.unit, info: c.doc }));
  }
  return sql({ dialect: PostgreSQL, schema, upperCaseKeywords: true });
}

function open(target: HTMLElement, options: EditorOptions): Editor {
  const tables = new Compartment();
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  const run = () => {
    options.onRun();
    return true;
  };
  const view = new EditorView({
    parent: target,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        ...(nonce ? [EditorView.cspNonce.of(nonce)] : []),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        syntaxHighlighting(colours),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        tables.of(language(options.tables)),
        placeholder("SELECT …"),
        EditorView.contentAttributes.of({ "aria-label": "SQL; Control Enter runs it, Escape then Tab leaves" }),
        EditorView.updateListener.of((u) => u.docChanged && options.onChange(u.state.doc.toString())),
        look,
      ],
    }),
  });
  return {
    set: (text) => {
      if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    know: (list) => view.dispatch({ effects: tables.reconfigure(language(list)) }),
    destroy: () => view.destroy(),
  };
}

window.FenxiEditor = { open };
