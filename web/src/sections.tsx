// The sections of a run's page: panels under a heading, asked for when they come near, drawn when all of a section are
// known, so that nothing moves under the reader's eyes.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, peek, request, useAnswers } from "./api";
import { guess, PanelView, Sql } from "./panel";
import type { Header, Panel, Run, Section } from "./payload";
import { everything, useNear, useShared, zoom } from "./shared";
import { charactersOf } from "./table";
import { clock } from "./units";

const ids = (runs: Run[]) => runs.map((r) => r.id);

/** The panels of a section as far as they are known. */
function known(section: Section, runs: Run[]): (Panel | undefined)[] {
  return section.panels.map((p) => peek<Panel>(request("panel", { question: p.id, run: ids(runs) })));
}

/** Whether all panels of a section are known to have nothing to show. */
export function silent(section: Section, runs: Run[]): boolean {
  return known(section, runs).every((p) => p?.quiet);
}

/** Links to the sections, which are there when they are `drawn`; while a time range is shown also which, and `tools` for it. */
export function Navigation({
  sections,
  drawn = true,
  tools,
}: {
  sections: { id: string; title: string }[];
  drawn?: boolean;
  tools?: ComponentChildren;
}) {
  const [here, setHere] = useState(sections[0]?.id);
  const range = useShared(zoom);
  const list = sections.map((s) => s.id).join(" ");
  useEffect(() => {
    // The first section of which something is in the upper part of the window.
    const inside = new Set<Element>();
    const observer = new IntersectionObserver(
      (seen) => {
        for (const s of seen) s.isIntersecting ? inside.add(s.target) : inside.delete(s.target);
        const first = [...inside].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0];
        if (first) setHere(first.id.replace(/^section-/, ""));
      },
      { rootMargin: "-60px 0px -60% 0px" },
    );
    for (const s of document.querySelectorAll("main section[id^=section-]")) observer.observe(s);
    return () => observer.disconnect();
  }, [list, drawn]);
  return (
    <nav class="sections" aria-label="sections">
      <div class="nav-links">
        {sections.map((s) => (
          <a key={s.id} href={`#section-${s.id}`} aria-current={here === s.id ? "true" : undefined}>
            {s.title}
          </a>
        ))}
      </div>
      <div class="nav-tools">
        {tools}
        {range && (
          <button type="button" class="zoom-reset" onClick={() => zoom.set(null)} title="Show the whole run (Escape)">
            {range.map((t) => clock(t, range[1] - range[0] < 10)).join(" – ")} ✕
          </button>
        )}
      </div>
    </nav>
  );
}

/** Panels that have nothing to show: their titles in one line, and why when it is opened. */
export function Silence({ lead, panels }: { lead: string; panels: Panel[] }) {
  return (
    <details class="nothing">
      <summary>{`${lead}: ${panels.map((p) => p.title.replace(/\?$/, "")).join("; ")}`}</summary>
      <ul>
        {panels.map((p) => (
          <li key={p.id} id={`panel-${p.id}`}>
            <strong>{p.title}</strong>
            {p.quiet === "zero" ? " All values are zero. " : " No rows. "}
            {p.about}
            <Sql sql={p.sql} id={p.id} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A section of which everything is known to be silent. */
export function SilentSection({ section, runs }: { section: Section; runs: Run[] }) {
  return (
    <section id={`section-${section.id}`} class="silent">
      <Silence lead={`${section.title}: no activity`} panels={known(section, runs) as Panel[]} />
    </section>
  );
}

interface SectionProps {
  section: Section;
  runs: Run[];
  /** Panels that are evidence of a finding: they are never folded. */
  evidence: Set<string>;
  onKnown: () => void;
}

export function SectionView({ section, runs, evidence, onKnown }: SectionProps) {
  const box = useRef<HTMLElement>(null);
  // Once drawn it stays so, whatever becomes of the cached answers.
  const drawn = useRef<(Panel | ApiError | undefined)[] | null>(null);
  const before = known(section, runs);
  if (before.every((p) => p !== undefined)) drawn.current ??= before;
  const near = useNear(box, 1400);
  const answers = useAnswers("panel", near && !drawn.current ? section.panels.map((p) => ({ question: p.id, run: ids(runs) })) : null);
  if (answers.length > 0 && answers.every((a) => a !== undefined)) drawn.current = answers;
  const here = drawn.current !== null;
  useEffect(() => {
    if (here) onKnown();
  }, [here]);
  return (
    <section id={`section-${section.id}`} ref={box}>
      <h2>{section.title}</h2>
      {drawn.current ? (
        <Panels headers={section.panels} answers={drawn.current} runs={runs} evidence={evidence} />
      ) : (
        <Waiting section={section} done={answers.filter((a) => a !== undefined).length} />
      )}
    </section>
  );
}

function Waiting({ section, done }: { section: Section; done: number }) {
  const columns = innerWidth >= 1100 ? 2 : 1;
  const height = section.panels.slice(0, OPEN.quiet).reduce((sum, p) => sum + guess(p) / (isWide(p) ? 1 : columns), 0);
  return (
    <div class="waiting" style={{ minHeight: `${Math.round(height * 0.7)}px` }}>{`${done} of ${section.panels.length} answers loaded`}</div>
  );
}

/** So many panels of a section stand open; of one without a finding, one row. */
const OPEN = { evident: 4, quiet: 2 };

interface PanelsProps {
  headers: Header[];
  answers: (Panel | ApiError | undefined)[];
  runs: Run[];
  evidence: Set<string>;
}

function Panels({ headers, answers, runs, evidence }: PanelsProps) {
  // What could not be asked has an error in its place.
  const panels = answers.map(
    (a, i): Panel => (a instanceof ApiError || !a ? { ...headers[i], columns: {}, error: a?.message ?? "no answer" } : a),
  );
  const loud = panels.filter((p) => !p.quiet);
  const quiet = panels.filter((p) => p.quiet);
  const most = loud.some((p) => evidence.has(p.id)) ? OPEN.evident : OPEN.quiet;
  // One more is no reason to fold it; what somebody wrote is looked for.
  const open = loud.filter((p, i) => i < most || evidence.has(p.id) || p.own || loud.length <= most + 1);
  const folded = loud.filter((p) => !open.includes(p));
  return (
    <>
      <PanelGrid panels={open} runs={runs} />
      {folded.length > 0 && <Folded panels={folded} runs={runs} />}
      {quiet.length > 0 && <Silence lead="No activity" panels={quiet} />}
    </>
  );
}

function PanelGrid({ panels, runs }: { panels: Panel[]; runs: Run[] }) {
  const spans = widths(panels, runs);
  return (
    <div class="panels">
      {panels.map((p, i) => (
        <PanelView key={p.id} base={p} runs={runs} wide={spans[i]} />
      ))}
    </div>
  );
}

/** Panels that are drawn when they are asked for, by their line, by a link to one of them, or for the printer. */
function Folded({ panels, runs }: { panels: Panel[]; runs: Run[] }) {
  const names = (hash: string) => panels.some((p) => hash === `#panel-${p.id}`);
  const [opened, setOpen] = useState(names(location.hash));
  const open = useShared(everything) || opened;
  useEffect(() => {
    const followed = () => names(location.hash) && setOpen(true);
    addEventListener("hashchange", followed);
    return () => removeEventListener("hashchange", followed);
  }, [panels.map((p) => p.id).join()]);
  return (
    <details class="more" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{`${panels.length} more: ${panels.map((p) => p.title.replace(/\?$/, "")).join("; ")}`}</summary>
      {open && <PanelGrid panels={panels} runs={runs} />}
    </details>
  );
}

const isWide = (p: Header) => ["table", "summary", "tiles", "heatmap"].includes(p.chart);
/** Characters of a table that half a page has room for, and the width of a window in which it has. */
const NARROW = 80;
const HALVES = 1350;

/** Whether half a page is enough for a panel that is wide by its kind. */
function isNarrow(p: Panel): boolean {
  if (innerWidth < HALVES) return false;
  return p.chart === "summary" || p.chart === "tiles" || (p.chart === "table" && !!p.table && charactersOf(p.table) <= NARROW);
}

/** Which panels take a whole row: wide kinds, and a narrow one that would stand beside nothing. */
function widths(panels: Panel[], runs: Run[]): boolean[] {
  const wide = panels.map((p) => (isWide(p) && !isNarrow(p)) || runs.length > 1);
  let narrow = 0;
  for (let i = 0; i <= panels.length; i++) {
    if (i < panels.length && !wide[i]) narrow++;
    else {
      if (narrow % 2 === 1) wide[i - 1] = true;
      narrow = 0;
    }
  }
  return wide;
}
