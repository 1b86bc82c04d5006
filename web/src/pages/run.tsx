// One run, or several over each other: facts on top, then what stands out, then sections of panels.

import { useEffect, useReducer, useState } from "preact/hooks";
import { ask, embedded, offline, useAnswer } from "../api";
import { Findings } from "../findings";
import { Empty, Failure, Pending } from "../parts";
import type { Opened } from "../payload";
import { RunFacts } from "../runs/facts";
import { RunTools } from "../runs/tools";
import { SaveWindow } from "../runs/windows";
import { Navigation, SectionView, silent, SilentSection } from "../sections";
import { useWritable } from "../shell";
import { WhereTheTimeWent } from "../split";
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
        <Empty title="Which run?">
          <p>
            Choose one from <a href="/">the list of runs</a>.
          </p>
        </Empty>
      ) : answer.error ? (
        <Failure error={answer.error} />
      ) : (
        <Pending what={`Opening ${wanted.join(", ")}`} />
      )}
    </main>
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
  useZoomInLink(query, 0, Math.max(0, ...runs.map((r) => r.duration_s)));
  useEffect(() => {
    if (!embedded) document.title = `${opened.title} · Fenxi`;
  }, [opened.title]);
  const sections = opened.sections.filter((s) => s.panels.length > 0);
  useEffect(() => {
    // The first answers are on their way while findings are looked for.
    for (const p of offline ? [] : (sections[0]?.panels ?? [])) ask("panel", { question: p.id, run: ids }).catch(() => undefined);
  }, [ids.join()]);
  // A run of one tool's output is silent about most things: these are named at the end, in a line each.
  const told = sections.filter((s) => !silent(s, runs));
  const still = sections.filter((s) => !told.includes(s));
  const ready = findings.data !== undefined || findings.error !== undefined || !patient;
  return (
    <>
      <div class="top">
        <div class="page-head">
          <h1>{opened.title}</h1>
          {!offline && runs.length > 0 && <RunTools runs={runs} writable={writable} />}
        </div>
        <RunFacts runs={runs} writable={writable} />
      </div>
      <Navigation
        sections={[{ id: "findings", title: "Findings" }, ...(split ? [{ id: "split", title: "Time" }] : []), ...told]}
        drawn={ready}
        tools={writable && <SaveWindow runs={runs} />}
      />
      <main id="main" tabIndex={-1}>
        {findings.data ? (
          <Findings all={findings.data} panels={told.flatMap((s) => s.panels)} runs={runs} />
        ) : (
          <section id="section-findings">
            <h2>Findings</h2>
            {findings.error ? <Failure error={findings.error} /> : <Pending what="Evaluating findings" />}
          </section>
        )}
        {ready && split && <WhereTheTimeWent split={split} names={runs.map((r) => r.name)} windows={windows} />}
        {ready && told.map((s) => <SectionView key={`${s.id} ${ids.join()}`} section={s} runs={runs} onKnown={() => look(0)} />)}
        {ready && still.map((s) => <SilentSection key={s.id} section={s} runs={runs} />)}
        {sections.length === 0 && <p class="quiet">There are no questions for this run.</p>}
      </main>
      {ready && (
        <footer>
          {`${embedded ? `${embedded.generator}. ` : ""}Drag over a chart to zoom all of them, double-click or press Escape for the whole run; with a chart in focus, arrows move the pointer and + and − zoom.`}
        </footer>
      )}
    </>
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
