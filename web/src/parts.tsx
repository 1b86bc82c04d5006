// Small parts that pages share: what could not be had, what is not here yet, text with code in it.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "./api";

/** Why there is no answer, and a way to try again. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="error" role="alert">
      {error.message}
      {retry && (
        <button type="button" class="plain" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What is awaited, shown only when it takes long enough to be read, with the time that has passed. */
export function Pending({ what, stop }: { what: string; stop?: () => void }) {
  const [tenths, setTenths] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTenths((n) => n + 1), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="quiet pending" role="status" style={{ visibility: tenths < 3 ? "hidden" : "visible" }}>
      {`${what}: ${(tenths / 10).toFixed(1)} s`}
      {stop && (
        <button type="button" class="plain" onClick={stop}>
          Cancel
        </button>
      )}
    </p>
  );
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface TypedProps {
  value: string;
  onCommit: (text: string) => void;
  class?: string;
  list?: string;
  placeholder?: string;
}

/** A field whose text counts when it is left or Enter is pressed; until then nothing that is drawn anew takes it away. */
export function Typed({ value, onCommit, ...rest }: TypedProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const commit = () => text.trim() !== value && onCommit(text.trim());
  const enter = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || text.trim() === value) return;
    e.preventDefault();
    commit();
  };
  return <input type="text" {...rest} value={text} onInput={(e) => setText(e.currentTarget.value)} onBlur={commit} onKeyDown={enter} />;
}

/** Text in which backticks stand around code. */
export function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}

/** Characters that surely fit into a long cell without scrolling, at its minimum width. */
const FITS = 80;

/** A cell of several lines. Where it may scroll, the keyboard reaches it. */
export function LongCell({ text }: { text: string }) {
  return (
    <td class="long">
      <div tabIndex={text.length > FITS ? 0 : undefined}>{text}</div>
    </td>
  );
}
