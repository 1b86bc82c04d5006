// A dialog over the page: the browser's own, which keeps the focus in it and closes on Escape.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import { Prose } from "./parts";

interface Props {
  title: string;
  /** The word on the button that does it. */
  act: string;
  danger?: boolean;
  onAct: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, act, danger, onAct, onClose, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError("");
    try {
      await onAct();
      onClose();
    } catch (problem) {
      setError(problem instanceof ApiError ? problem.message : String(problem));
      setBusy(false);
    }
  };
  return (
    <dialog ref={box} onClose={onClose} aria-label={title}>
      <form method="dialog" onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <div class="dialog-foot">
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={danger ? "act danger" : "act"} disabled={busy}>
            {busy ? `${act} …` : act}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** A line of a form: what it is, and where it is filled in. */
export function Field({ label, help, children }: { label: string; help?: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the input is among the children
    <label class="field">
      <span>{label}</span>
      {children}
      {help && (
        <small class="quiet">
          <Prose text={help} />
        </small>
      )}
    </label>
  );
}

/** Moves an open menu to the left as far as it would stand out of the window. */
function keepInside(menu: HTMLDetailsElement | null): void {
  const box = menu?.querySelector<HTMLElement>(".menu-box");
  if (!menu?.open || !box) return;
  box.style.left = "0";
  const beyond = box.getBoundingClientRect().right - document.documentElement.clientWidth + 10;
  if (beyond > 0) box.style.left = `${-beyond}px`;
}

/** A button that opens a small menu below it; a click outside and Escape close it. */
export function Menu({ label, title, children }: { label: ComponentChildren; title?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (e: Event) => {
      const menu = box.current;
      if (!menu?.open) return;
      if (e instanceof KeyboardEvent ? e.key === "Escape" : !menu.contains(e.target as Node)) {
        menu.open = false;
        if (e instanceof KeyboardEvent) menu.querySelector("summary")?.focus();
      }
    };
    document.addEventListener("keydown", close);
    document.addEventListener("click", close);
    return () => {
      document.removeEventListener("keydown", close);
      document.removeEventListener("click", close);
    };
  }, []);
  return (
    <details class="menu" ref={box} onToggle={() => keepInside(box.current)}>
      <summary title={title}>{label}</summary>
      <div class="menu-box">{children}</div>
    </details>
  );
}
