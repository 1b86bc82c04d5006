// One run, or several over each other: the answer first, on one screen; below it sections of panels.

import type { ComponentChildren } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { AnyColumn } from "../anycolumn";
import { embedded, offline, useAnswer } from "../api";
import { Beside } from "../charts/axis";
import { Findings } from "../findings";
import { FirstScreen, shownFirst, TheAnswer, useFirst } from "../first";
import { Different } from "../inrange";
import { MARKS, type Moment, moments, momentsOf } from "../marks";
import { Empty, Failure, Pending } from "../parts";
import type { Opened, Run, Section } from "../payload";
import { link } from "../router";
import { RunFacts } from "../runs/facts";
import { MarkMoment } from "../runs/marking";
import { useOthers } from "../runs/others";
import { RunTools } from "../runs/tools";
import { SaveWindow } from "../runs/windows";
import { Navigation, SectionView, silent, SilentSection } from "../sections";
import { marked, settled, useShared } from "../shared";
import { useWritable } from "../shell";
import { moment } from "../units";
import { useZoomInLink } from "../zoomlink";
import type { Page } from ".";

export const run: Page = { path: "/run", View: RunPage };

function RunPage({ query }: { query: URLSearchParams }) {
  const wanted = query.getAll("run");
  const answer = useAnswer("run", wanted.length > 0 ? { run: wanted } : null);
  if (answer.data) return <OpenedRun opened={answer.data} query={query} />;
  return (
    <main id="main" tabIndex={-1}>
      {wanted.length === 0 ? (
        <Latest title="Which run?" />
      ) : answer.error?.status === 404 && !offline ? (
        <NoRun wanted={wanted} near={answer.error.near} />
      ) : answer.error ? (
        <Failure error={answer.error} />
      ) : (
        <Pending what={`Opening ${wanted.join(", ")}`} />
      )}
    </main>
  );
}

/** So many runs are offered where none is named. */
const OFFERED = 10;

/** What was asked for is none: what looks like it, and the latest. */
function NoRun({ wanted, near }: { wanted: string[]; near: string[] }) {
  return (
    <Latest title={`No run matches ${wanted.join(", ")}`} lead="The latest runs:">
      {near.length > 0 && (
        <p>
          {"Did you mean "}
          {near.map((name, i) => (
            <>
              {i > 0 && ", "}
              <a href={link("/run", { run: name })}>{name}</a>
            </>
          ))}
          {"?"}
        </p>
      )}
      <p class="quiet">A run is named by its id, a prefix of it, its name, a label such as level=9, or @1 for the latest.</p>
    </Latest>
  );
}

function Latest({ title, lead, children }: { title: string; lead?: string; children?: ComponentChildren }) {
  const answer = useAnswer("runs", { sort: "start", desc: true, limit: OFFERED });
  return (
    <Empty title={title}>
      {children}
      {lead && answer.data && answer.data.rows.length > 0 && <p>{lead}</p>}
      {answer.data && (
        <ul>
          {answer.data.rows.map((row) => (
            <li key={row.id}>
              <a href={link("/run", { run: row.id })}>{row.name}</a> <span class="quiet">{moment(row.start_ms)}</span>
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href="/">All runs</a>
      </p>
    </Empty>
  );
}

function OpenedRun({ opened, query }: { opened: Opened; query: URLSearchParams }) {
  const { runs } = opened;
  const ids = runs.map((r) => r.id);
  const findings = useAnswer("findings", { run: ids });
  const explained = useAnswer("explain", { run: ids });
  const split = explained.data?.split ?? null;
  const windows = (explained.data?.groups ?? []).flatMap((group) => group.runs.flatMap((r) => r.window ?? []));
  const [, look] = useReducer((n: number) => n + 1, 0);
  const patient = usePatience();
  const writable = useWritable();
  useOthers(runs);
  useZoomInLink(query, 0, Math.max(0, ...runs.map((r) => r.duration_s)));
  useEffect(() => {
    if (!embedded) document.title = `${opened.title} · Fenxi`;
  }, [opened.title]);
  const all = opened.sections.filter((s) => s.panels.length > 0);
  const first = useFirst(all, runs);
  const range = useShared(settled);
  const happened = useMoments(all, runs);
  const beside = all.flatMap((s) => s.panels).filter((p) => p.x === "t" && p.chart === "line");
  const above = shownFirst(first, split !== null);
  const left = all.map((s) => ({ ...s, panels: s.panels.filter((p) => !above.has(p.id)) }));
  const sections = left.filter((s) => s.panels.length > 0);
  // A run of one tool's output is silent about most things: these are named at the end, in a line each.
  const shown = sections.filter((s) => !silent(s, runs));
  const still = sections.filter((s) => !shown.includes(s));
  const loud = (findings.data?.found ?? []).filter((f) => f.kind !== "information");
  const evidence = new Set(loud.flatMap((f) => f.ask ?? []));
  const ready = (first !== null && explained.data !== undefined && findings.data !== undefined) || !patient;
  // A link to a section may be followed before the sections are there.
  useEffect(() => {
    if (ready && location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [ready]);
  return (
    <>
      <div class="top">
        <div class="page-head">
          <h1>{opened.title}</h1>
          {!offline && runs.length > 0 && <RunTools runs={runs} writable={writable} />}
        </div>
        <RunFacts runs={runs} moments={happened} writable={writable} />
      </div>
      <Navigation
        sections={[
          { id: "answer", title: "Answer" },
          ...(range && runs.length === 1 && !offline ? [{ id: "different", title: "Different here" }] : []),
          { id: "findings", title: "Findings" },
          ...shown,
        ]}
        drawn={ready}
        tools={
          <>
            {happened.length > 0 && <MarksSwitch />}
            {writable && runs.length === 1 && <MarkMoment run={runs[0]} />}
            {writable && <SaveWindow runs={runs} />}
          </>
        }
      />
      <main id="main" tabIndex={-1}>
        <Beside.Provider value={beside}>
          <section id="section-answer">
            {findings.data ? <TheAnswer answer={findings.data.answer} /> : !findings.error && <Pending what="Looking for the bottleneck" />}
            {findings.error && <Failure error={findings.error} />}
            {first && <FirstScreen first={first} runs={runs} split={split} windows={windows} />}
          </section>
          {!offline && <Different runs={runs} />}
          {findings.data && <Findings all={findings.data} panels={all.flatMap((s) => s.panels)} runs={runs} />}
          {ready &&
            shown.map((s) => (
              <SectionView key={`${s.id} ${ids.join()}`} section={s} runs={runs} evidence={evidence} onKnown={() => look(0)} />
            ))}
          {ready && still.map((s) => <SilentSection key={s.id} section={s} runs={runs} />)}
          {ready && <AnyColumn runs={runs} query={query} />}
          {all.length === 0 && <p class="quiet">There are no questions for this run.</p>}
        </Beside.Provider>
      </main>
      {ready && (
        <footer>
          {`${embedded ? `${embedded.generator}. ` : ""}Drag over a chart to zoom all of them, double-click or press Escape for the whole run; with a chart in focus, arrows move the pointer and + and − zoom.`}
        </footer>
      )}
    </>
  );
}

/** What happened at moments of the runs, which charts show. */
function useMoments(sections: Section[], runs: Run[]): Moment[] {
  const has = sections.some((s) => s.panels.some((p) => p.id === MARKS));
  const answer = useAnswer("panel", has ? { question: MARKS, run: runs.map((r) => r.id) } : null).data;
  const shown = useShared(marked);
  const found = momentsOf(answer, runs);
  useEffect(() => {
    moments.set(shown === "on" ? found : []);
    return () => moments.set([]);
  }, [answer, shown]);
  return found;
}

function MarksSwitch() {
  const shown = useShared(marked);
  return (
    <button
      type="button"
      aria-pressed={shown === "on"}
      title="Show in all charts when something happened: marks, phases, errors in logs, other events"
      onClick={() => marked.set(shown === "on" ? "off" : "on")}
    >
      {shown === "on" ? "▾ marks" : "marks"}
    </button>
  );
}

/** What is below waits a little for the findings above it, so that it need not move; not for ever. */
function usePatience(): boolean {
  const [patient, setPatient] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setPatient(false), 2000);
    return () => clearTimeout(timer);
  }, []);
  return patient;
}
