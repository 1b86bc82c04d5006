// The menu with which a chart or table is taken away.

import { useEffect, useRef, useState } from "preact/hooks";
import { copy, csv, fileName, picture, png, save, type Sheet } from "./export";

interface Props {
  title: string;
  /** The element of the chart; without it there are no pictures. */
  chart?: { current: HTMLElement | null };
  rows?: () => Sheet;
  sql?: string;
}

type Act = [name: string, run: () => void | Promise<void>];

export function TakeAway({ title, chart, rows, sql }: Props) {
  const [open, setOpen] = useState(false);
  const [notice, setNotice] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (e: Event) => {
      if (e instanceof KeyboardEvent ? e.key === "Escape" : !box.current?.contains(e.target as Node)) setOpen(false);
    };
    box.current?.querySelector<HTMLElement>(".takeaway-menu button")?.focus();
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [open]);
  const at = () => chart!.current!;
  const acts: Act[] = [
    ...(chart
      ? ([
          ["Copy as PNG", async () => copy(await png(at(), title))],
          ["Save as PNG", async () => save(fileName(title, "png"), await png(at(), title))],
          ["Save as SVG", () => save(fileName(title, "svg"), picture(at(), title).svg, "image/svg+xml")],
        ] as Act[])
      : []),
    ...(rows
      ? ([
          ["Copy as CSV", () => copy(csv(rows()))],
          ["Save as CSV", () => save(fileName(title, "csv"), csv(rows()), "text/csv")],
        ] as Act[])
      : []),
    ...(sql ? ([["Copy the SQL", () => copy(sql)]] as Act[]) : []),
  ];
  const run = async ([name, act]: Act) => {
    try {
      await act();
      setNotice(`${name}: done`);
    } catch (error) {
      setNotice(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    setOpen(false);
    setTimeout(() => setNotice(""), 4000);
  };
  return (
    <div class="takeaway" ref={box}>
      <button
        type="button"
        aria-expanded={open}
        aria-label={`copy or save: ${title}`}
        title="Copy or save this"
        onClick={() => setOpen(!open)}
      >
        ⤓
      </button>
      {open && (
        <div class="takeaway-menu">
          {acts.map((act) => (
            <button key={act[0]} type="button" onClick={() => void run(act)}>
              {act[0]}
            </button>
          ))}
        </div>
      )}
      <span class={notice ? "takeaway-notice" : "unseen"} aria-live="polite">
        {notice}
      </span>
    </div>
  );
}
