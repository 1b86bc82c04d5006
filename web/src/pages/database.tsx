// The databases of one run: who was active and in what, then whatever explains it, always for the time range and the
// sessions that were chosen.

import { useEffect, useRef } from "preact/hooks";
import { embedded, lists, offline, useAnswer } from "../api";
import { fileName } from "../charts/export";
import { Machine, Tabs } from "../database/below";
import { Blocking } from "../database/blocking";
import "../database/database.css";
import { Chips, DimensionPicker, ServerPicker, Steps } from "../database/filters";
import { LiveDatabases } from "../database/live";
import { Asked, useRanged } from "../database/ranged";
import { hasDatabase, holds, type Looked, looked, parameters } from "../database/state";
import { Tops } from "../database/tops";
import { Drawing } from "../panel";
import { Empty, Failure, Pending } from "../parts";
import type { Opened, Run } from "../payload";
import { link, refine } from "../router";
import { cursor, useShared, zoom } from "../shared";
import { clock } from "../units";
import { useZoomInLink } from "../zoomlink";
import type { Page } from ".";

export const database: Page = { path: "/database", View: DatabasePage };

function DatabasePage({ query }: { query: URLSearchParams }) {
  const wanted = query.get("run");
  const answer = useAnswer("run", wanted ? { run: [wanted] } : null);
  const status = useAnswer("status", wanted || offline ? null : {}).data;
  if (!wanted && status?.sources.some((s) => s.name === "db")) return <LiveDatabases query={query} />;
  if (answer.data && hasDatabase(answer.data.runs[0])) return <OpenedRun opened={answer.data} query={query} />;
  return (
    <main id="main" tabIndex={-1}>
      {answer.data ? (
        <Empty title="No database in this run">
          <p>
            {`No database was observed in ${answer.data.title}. Record one with `}
            <code>fenxi record --db URL</code>. <a href={link("/run", { run: answer.data.runs[0].id })}>Back to the run</a>
          </p>
        </Empty>
      ) : !wanted ? (
        <Empty title="Which run?">
          <p>
            Choose one from <a href="/">the list of runs</a>. Servers that are named when this one is started are watched here as they work:{" "}
            <code>fenxi serve --db URL</code>.
          </p>
        </Empty>
      ) : answer.error ? (
        <Failure error={answer.error} />
      ) : (
        <Pending what={`Opening ${wanted}`} />
      )}
    </main>
  );
}

function OpenedRun({ opened, query }: { opened: Opened; query: URLSearchParams }) {
  const [run] = opened.runs;
  const state = looked(query);
  const charts = useRef<HTMLDivElement>(null);
  useZoomInLink(query, 0, run.duration_s);
  useMoments(charts);
  useEffect(() => {
    if (!embedded) document.title = `Database · ${opened.title} · Fenxi`;
  }, [opened.title]);
  return (
    <>
      <div class="top">
        <div class="page-head">
          <h1>{`Database · ${opened.title}`}</h1>
          <div class="page-tools">
            <ServerPicker run={run} state={state} />
            {!offline && <Keep opened={opened} query={query} state={state} />}
            {!offline && (
              <a class="plain" href={link("/run", { run: run.id, from: query.get("from"), to: query.get("to") })}>
                The whole run
              </a>
            )}
          </div>
        </div>
        <Figures run={run} state={state} />
      </div>
      <main id="main" tabIndex={-1} class="database">
        <div ref={charts}>
          <section id="section-activity">
            <h2>Active sessions</h2>
            <div class="db-bar">
              {!offline && <DimensionPicker state={state} />}
              <RangeShown />
            </div>
            <Chips run={run} state={state} />
            <ActivityChart run={run} state={state} />
            {!offline && <Steps state={state} />}
            <Tops run={run} state={state} />
          </section>
          {state.below && <Machine run={run} state={state} below={state.below} />}
          {holds(run, ["db_lock"]) ? (
            <Blocking run={run} state={state} />
          ) : (
            <p class="quiet">No session was seen waiting for another one's lock.</p>
          )}
        </div>
        <Tabs opened={opened} state={state} />
      </main>
      <footer>
        Drag over a chart to choose a time range: everything on this page follows it. Escape shows the whole run. Lists are made from
        samples of sessions; a CPU is assumed where no wait was seen.
      </footer>
    </>
  );
}

/** The report of the server, and this page as a file. */
function Keep({ opened, query, state }: { opened: Opened; query: URLSearchParams; state: Looked }) {
  const [run] = opened.runs;
  const page = link("/database", { ...lists(query), run: run.id });
  return (
    <>
      <a class="plain" href={link("/db-report", { run: run.id, from: query.get("from"), to: query.get("to"), server: state.server })}>
        Report
      </a>
      <a class="plain" href={`/api/v1/report?${new URLSearchParams({ page })}`} download={fileName(`database ${opened.title}`, "html")}>
        Save as one file
      </a>
    </>
  );
}

/** The figures on top. */
function Figures({ run, state }: { run: Run; state: Looked }) {
  const { data, error } = useRanged("db-key-figures", run, state.server ? { "p.server": state.server } : {});
  if (error) return <Failure error={error} />;
  return (
    <section class="db-figures" aria-label="key figures of the time range">
      {data ? data.quiet ? <p class="quiet">No counter was read in this time range.</p> : <Drawing panel={data} runs={[run]} /> : null}
    </section>
  );
}

/** Active sessions: all of them by class as measured best, or as sampled where some are chosen or told apart otherwise. */
function ActivityChart({ run, state }: { run: Run; state: Looked }) {
  const all = state.by === "class" && Object.keys(state.filters).length === 0;
  if (all) {
    const params = state.server ? { "p.server": state.server } : {};
    return <Asked key="all" question="db-activity" run={run} wide params={params} title="How many sessions were active, and in what?" />;
  }
  return (
    <Asked
      key={state.by}
      question="db-by-application"
      run={run}
      wide
      params={{ ...parameters(state), "p.by": state.by }}
      title={`Active sessions by ${state.by}`}
      about="From samples of sessions, ten a second unless it was asked for otherwise; CPU is assumed where no wait was seen."
    />
  );
}

/** The time range, and the way back to the whole run. */
function RangeShown() {
  const range = useShared(zoom);
  if (!range) return null;
  return (
    <button type="button" class="plain zoom-reset" onClick={() => zoom.set(null)} title="Show the whole run (Escape)">
      {range.map((t) => clock(t, range[1] - range[0] < 10)).join(" – ")} ✕
    </button>
  );
}

/** Moves of the pointer up to this are a click, not a time range, pixels. */
const STILL = 3;

/** A click on a chart, or Enter where its pointer is, chooses the moment of which the tree of blockers is shown. */
function useMoments(box: { current: HTMLElement | null }): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let down = 0;
    const choose = () => cursor.value !== null && refine({ at: Math.max(0, cursor.value).toFixed(1) }, true);
    const onChart = (e: Event) => (e.target as Element).closest?.(".chart");
    const press = (e: PointerEvent) => {
      down = e.clientX;
    };
    const click = (e: MouseEvent) => {
      if (onChart(e) && Math.abs(e.clientX - down) <= STILL) choose();
    };
    const key = (e: KeyboardEvent) => {
      if (e.key === "Enter" && onChart(e)) choose();
    };
    element.addEventListener("pointerdown", press);
    element.addEventListener("click", click);
    element.addEventListener("keydown", key);
    return () => {
      element.removeEventListener("pointerdown", press);
      element.removeEventListener("click", click);
      element.removeEventListener("keydown", key);
    };
  }, []);
}
