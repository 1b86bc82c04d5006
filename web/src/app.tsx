// The page: facts of the runs on top, then what stands out, then sections of panels, each the answer to one question.

import { useEffect, useState } from "preact/hooks";
import { Findings } from "./findings";
import { HeatMap } from "./heatmap";
import type { Panel, Payload, Run, Section } from "./payload";
import { colour, theme, toggleTheme, useShared, zoom } from "./shared";
import { Bars, Summary, Tiles } from "./summary";
import { Table } from "./table";
import { TimeChart } from "./timechart";
import { Tooltip } from "./tooltip";
import { clock, duration, human, utc } from "./units";

export function App({ payload }: { payload: Payload }) {
  const sections = payload.sections.filter((s) => s.panels.length > 0);
  // A run of one tool's output is silent about most things: these are named at the end, in a line each.
  const told = sections.filter((s) => s.panels.some((p) => !p.quiet));
  const silent = sections.filter((s) => !told.includes(s));
  return (
    <>
      <a class="skip" href="#main">Skip to the charts</a>
      <header class="top">
        <h1>{payload.title}</h1>
        <RunFacts runs={payload.runs} />
      </header>
      <Navigation sections={[{ id: "findings", title: "Findings" }, ...told]} />
      <main id="main">
        <Findings all={payload.findings} panels={told.flatMap((s) => s.panels.filter((p) => !p.quiet))} runs={payload.runs} />
        {told.map((s) => <SectionView key={s.id} section={s} runs={payload.runs} />)}
        {silent.map((s) => (
          <section key={s.id} id={`section-${s.id}`} class="silent">
            <Silence lead={`${s.title}: nothing happened`} panels={s.panels} />
          </section>
        ))}
        {sections.length === 0 && <p class="quiet">There are no questions to answer.</p>}
      </main>
      <footer>
        {`${payload.generator}. All times are UTC. Drag over a chart to zoom all of them, double-click or press Escape for the whole run; with a chart in focus, arrows move the pointer and + and − zoom.`}
      </footer>
      <Tooltip />
    </>
  );
}

/** The colour that stands for a run, followed as the theme changes. */
function RunColour({ run }: { run: number }) {
  useShared(theme);
  return <span class="swatch" style={{ background: colour(run) }} />;
}

function RunFacts({ runs }: { runs: Run[] }) {
  return (
    <div class="runs">
      {runs.map((run, i) => (
        <section class="run" key={run.id} aria-label={`run ${run.name}`}>
          <div class="run-name">
            {runs.length > 1 && <RunColour run={i} />}
            {runs.length > 1 && <strong>{run.name}</strong>}
            {run.baseline && <span class="tag">baseline</span>}
            {run.recovered && <span class="tag warn">recovered after its recorder died</span>}
            {Object.entries(run.tags).map(([k, v]) => <span class="tag">{`${k}=${v}`}</span>)}
          </div>
          <dl>
            <Fact name="host" value={run.hosts.join(", ")} />
            <Fact name="start" value={`${utc(run.start_ms)} UTC`} />
            <Fact name="length" value={duration(run.duration_s)} />
            {run.interval_s !== null && <Fact name="interval" value={duration(run.interval_s)} />}
            {run.command && <Fact name="command" value={run.command} wide />}
            {run.exit_status !== null && <Fact name="exit status" value={String(run.exit_status)} />}
            {run.signal !== null && <Fact name="ended by signal" value={String(run.signal)} />}
            {!!run.missed_ticks && <Fact name="samples missed" value={`${run.missed_ticks} of ${(run.ticks ?? 0) + run.missed_ticks}`} />}
            {run.cost_s !== null && <Fact name="recorder used" value={`${human(run.cost_s, "s")} CPU`} />}
            {Object.entries(run.params).map(([k, v]) => <Fact name={k} value={v} />)}
            {run.remarks.map((r) => <Fact name="remark" value={r} wide />)}
            <Fact name="run" value={run.id} />
          </dl>
        </section>
      ))}
    </div>
  );
}

function Fact({ name, value, wide }: { name: string; value: string; wide?: boolean }) {
  return (
    <div class={wide ? "fact wide" : "fact"}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Navigation({ sections }: { sections: { id: string; title: string }[] }) {
  const [here, setHere] = useState(sections[0]?.id);
  const mode = useShared(theme);
  const stretch = useShared(zoom);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (seen) => {
        const first = seen.filter((s) => s.isIntersecting).sort((a, b) => a.boundingClientRect.top - b.boundingClientRect.top)[0];
        if (first) setHere(first.target.id.replace(/^section-/, ""));
      },
      { rootMargin: "-60px 0px -60% 0px" },
    );
    document.querySelectorAll("main > section").forEach((s) => observer.observe(s));
    return () => observer.disconnect();
  }, []);
  return (
    <nav aria-label="sections">
      <div class="nav-links">
        {sections.map((s) => (
          <a key={s.id} href={`#section-${s.id}`} aria-current={here === s.id ? "true" : undefined}>{s.title}</a>
        ))}
      </div>
      <div class="nav-tools">
        {stretch && (
          <button type="button" class="zoom-reset" onClick={() => zoom.set(null)} title="Show the whole run (Escape)">
            {`${clock(stretch[0])} – ${clock(stretch[1])} ✕`}
          </button>
        )}
        <button type="button" class="theme" onClick={toggleTheme} aria-label={`switch to the ${mode === "dark" ? "light" : "dark"} theme`}>
          {mode === "dark" ? "☀" : "☾"}
        </button>
      </div>
    </nav>
  );
}

/** Panels that have nothing to show: their titles in one line, and why when it is opened. */
function Silence({ lead, panels }: { lead: string; panels: Panel[] }) {
  return (
    <details class="nothing">
      <summary>{`${lead}: ${panels.map((p) => p.title.replace(/\?$/, "")).join("; ")}`}</summary>
      <ul>
        {panels.map((p) => (
          <li key={p.id}>
            <strong>{p.title}</strong>
            {p.quiet === "zero" ? " Every value is zero. " : " There are no rows. "}
            {p.about}
            <Sql sql={p.sql} id={p.id} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function SectionView({ section, runs }: { section: Section; runs: Run[] }) {
  const loud = section.panels.filter((p) => !p.quiet);
  const quiet = section.panels.filter((p) => p.quiet);
  const spans = widths(loud, runs);
  return (
    <section id={`section-${section.id}`}>
      <h2>{section.title}</h2>
      <div class="panels">{loud.map((p, i) => <PanelView key={p.id} panel={p} runs={runs} wide={spans[i]} />)}</div>
      {quiet.length > 0 && <Silence lead="Nothing happened here" panels={quiet} />}
    </section>
  );
}

/** Which panels take a whole row: wide kinds, and a narrow one that would stand beside nothing. */
function widths(panels: Panel[], runs: Run[]): boolean[] {
  const wide = panels.map((p) => ["table", "summary", "tiles", "heatmap"].includes(p.chart) || runs.length > 1);
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

function PanelView({ panel, runs, wide }: { panel: Panel; runs: Run[]; wide: boolean }) {
  return (
    <article class={wide ? "panel wide" : "panel"} id={`panel-${panel.id}`}>
      <h3>
        {panel.title}
        {panel.own && <span class="tag">own question</span>}
      </h3>
      {panel.about && <p class="about">{panel.about}</p>}
      <Answer panel={panel} runs={runs} />
      {!!panel.time?.left_out && <p class="quiet">{`${panel.time.left_out} more series, each below those here, are left out.`}</p>}
      <Sql sql={panel.sql} id={panel.id} />
    </article>
  );
}

function Answer({ panel, runs }: { panel: Panel; runs: Run[] }) {
  const { time, table } = panel;
  if (panel.error) return <p class="error" role="alert">{panel.error}</p>;
  if (panel.chart === "summary" && (time || table)) return <Summary panel={panel} runs={runs} />;
  if (time) {
    if (panel.chart === "line" || (panel.chart === "stacked" && runs.length === 1)) return <TimeChart panel={panel} time={time} runs={runs} />;
    // Stacks and heat maps of several runs cannot lie over each other: one chart each.
    const present = [...new Set(time.series.map((s) => s.run))].sort((a, b) => a - b);
    return (
      <>
        {present.map((r) => (
          <div key={r}>
            {runs.length > 1 && <h4><RunColour run={r} /> {runs[r].name}</h4>}
            {panel.chart === "heatmap" ? <HeatMap panel={panel} time={time} runs={runs} only={r} /> : <TimeChart panel={panel} time={time} runs={runs} only={r} />}
          </div>
        ))}
      </>
    );
  }
  if (!table) return <p class="quiet">no data</p>;
  if (panel.chart === "tiles") return <Tiles panel={panel} table={table} />;
  if (panel.chart === "bar") return <Bars panel={panel} table={table} />;
  return <Table panel={panel} table={table} />;
}

function Sql({ sql, id }: { sql: string; id: string }) {
  return (
    <details class="sql">
      <summary>SQL</summary>
      <pre tabIndex={0}>{sql.trim()}</pre>
      <p class="quiet">{`fenxi ask ${id}`}</p>
    </details>
  );
}
