// The part below sessions: the process, its files, the disks; and tabs with everything else that is known of the server.

import { SectionView } from "../sections";
import { offline } from "../api";
import type { Header, Opened, Run } from "../payload";
import { Asked } from "./ranged";
import { type Below, holds, type Looked, TABS } from "./state";
import { Step } from "./step";

const QUESTIONS: Record<Below, { title: string; lead: string; questions: string[] }> = {
  process: {
    title: "Process",
    lead: "What the operating system knows of the process or thread that served the session.",
    questions: ["db-session-process", "db-session-cpu"],
  },
  file: {
    title: "Files",
    lead: "Files of tables as an observer of file I/O saw them (`fenxi trace iopattern`).",
    questions: ["db-table-disk", "io-files"],
  },
  disk: {
    title: "Disks",
    lead: "The disks of the whole machine, for all processes.",
    questions: ["disk-util", "disk-latency", "hot-disks"],
  },
};

/** Questions that can be about one session. */
const OF_A_SESSION = ["db-session-process", "db-session-cpu"];

export function Machine({ run, state, below }: { run: Run; state: Looked; below: Below }) {
  const { title, lead, questions } = QUESTIONS[below];
  const session = state.filters.session ? { "p.session": state.filters.session } : {};
  return (
    <section id="section-machine">
      <h2>{title}</h2>
      <p class="quiet">{lead}</p>
      <div class="panels">
        {questions.map((name) => (
          <Asked
            key={name}
            question={name}
            run={run}
            wide={name !== "disk-util" && name !== "disk-latency"}
            params={OF_A_SESSION.includes(name) ? session : {}}
          />
        ))}
      </div>
    </section>
  );
}

/** Everything else, one part at a time; parts of which the run has nothing are named. */
export function Tabs({ opened, state }: { opened: Opened; state: Looked }) {
  const [run] = opened.runs;
  const headers = new Map(opened.sections.flatMap((s) => s.panels).map((p) => [p.id, p]));
  const full = TABS.filter((t) => holds(run, t.tables));
  const empty = TABS.filter((t) => !full.includes(t));
  const tab = full.find((t) => t.id === state.tab) ?? full[0];
  if (!tab) return null;
  // In a file there is nowhere to go: it shows them one below the other.
  const shown = offline ? full : [tab];
  return (
    <div class="db-tabs">
      {!offline && (
        <nav class="nav-links" aria-label="about the server">
          {full.map((t) => (
            <Step key={t.id} to={{ tab: t.id }} current={t.id === tab.id}>
              {t.title}
            </Step>
          ))}
        </nav>
      )}
      {shown.map((t) => {
        const panels = t.questions.map((name) => headers.get(name)).filter((p): p is Header => p !== undefined);
        // Who has chosen a tab wants all of it.
        const all = new Set(panels.map((p) => p.id));
        const section = { id: t.id, title: t.title, panels };
        return <SectionView key={t.id} section={section} runs={[run]} evidence={all} onKnown={() => undefined} />;
      })}
      {empty.length > 0 && <p class="quiet">{`The run has nothing about: ${empty.map((t) => t.title.toLowerCase()).join(", ")}.`}</p>}
    </div>
  );
}
