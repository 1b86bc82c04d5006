// Where SQL is written: a plain field at once, the editor over it when its bundle has come.

import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "../api";
import type { Catalogue } from "../api.gen";

export type { Catalogue };

export interface EditorOptions {
  text: string;
  tables: Catalogue["tables"];
  onChange: (text: string) => void;
  onRun: () => void;
}

export interface Editor {
  set(text: string): void;
  know(tables: Catalogue["tables"]): void;
  destroy(): void;
}

declare global {
  interface Window {
    FenxiEditor?: { open: (target: HTMLElement, options: EditorOptions) => Editor };
  }
}

let coming: Promise<void> | undefined;

/** Loads the editor once; the shell of the server has its address. */
function load(): Promise<void> {
  coming ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = document.querySelector<HTMLMetaElement>('meta[name="fenxi-asset"][data-name="editor.js"]')?.content ?? "/assets/editor.js";
    script.onload = () => done();
    script.onerror = () => {
      coming = undefined;
      fail(new Error("the editor could not be loaded"));
    };
    document.head.append(script);
  });
  return coming;
}

/** `onRun` is called on Control-Enter. */
export function SqlField({ text, onChange, onRun }: { text: string; onChange: (text: string) => void; onRun: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const editor = useRef<Editor | undefined>(undefined);
  const catalogue = useAnswer("catalogue", {}).data;
  const latest = useRef({ text, onChange, onRun, catalogue });
  latest.current = { text, onChange, onRun, catalogue };
  useEffect(() => {
    let gone = false;
    load().then(
      () => {
        if (gone || !box.current || !window.FenxiEditor) return;
        const focused = document.activeElement === plain.current;
        editor.current = window.FenxiEditor.open(box.current, {
          text: latest.current.text,
          tables: latest.current.catalogue?.tables ?? [],
          onChange: (t) => latest.current.onChange(t),
          onRun: () => latest.current.onRun(),
        });
        if (plain.current) plain.current.hidden = true;
        if (focused) box.current.querySelector<HTMLElement>(".cm-content")?.focus();
      },
      // Without it the plain field does as well.
      () => undefined,
    );
    return () => {
      gone = true;
      editor.current?.destroy();
    };
  }, []);
  useEffect(() => editor.current?.set(text), [text]);
  useEffect(() => {
    if (catalogue) editor.current?.know(catalogue.tables);
  }, [catalogue]);
  return (
    <div class="sql-field">
      <textarea
        ref={plain}
        aria-label="SQL; Control Enter runs it"
        spellcheck={false}
        value={text}
        onInput={(e) => onChange(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onRun();
        }}
      />
      <div ref={box} class="sql-editor" />
    </div>
  );
}
