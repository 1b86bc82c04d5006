// One panel: a question's title, its answer drawn as the question wishes, and the way to change it.

import { useContext, useRef } from "preact/hooks";
import { offline, useAnswer, type Values } from "./api";
import { TABLE_CHARTS, TableChart } from "./charts/answers";
import { Beside, useLog, useOver } from "./charts/axis";
import { sheetOf } from "./charts/sheet";
import { TakeAway } from "./charts/takeaway";
import { Compact } from "./compact";
import { HeatMap } from "./heatmap";
import type { Header, Panel, Run } from "./payload";
import { link } from "./router";
import { colour, settled, theme, useSeen, useShared } from "./shared";
import { Bars, Summary, Tiles } from "./summary";
import { Table } from "./table";
import { TimeChart } from "./timechart";

/** The colour that stands for a run, followed as the theme changes. */
export function RunColour({ run }: { run: number }) {
  useShared(theme);
  return <span class="swatch" style={{ background: colour(run) }} />;
}

interface PanelProps {
  base: Panel;
  runs: Run[];
  wide: boolean;
  /** Parameters of the question that `base` was asked with, `p.NAME`. */
  params?: Values;
}

/** `base` answers for the whole run; while a time range is shown, the server is asked for that alone. */
export function PanelView({ base, runs, wide, params }: PanelProps) {
  const box = useRef<HTMLElement>(null);
  const drawing = useRef<HTMLDivElement>(null);
  const seen = useSeen(box);
  const range = useShared(settled);
  const part = range && !offline && seen ? { from: round(range[0]), to: round(range[1]) } : null;
  const run = runs.map((r) => r.id);
  const finer = useAnswer("panel", part && { question: base.id, run, ...part, ...params });
  const panel = part && finer.data && !finer.stale ? { ...finer.data, title: base.title, over: base.over } : base;
  const [overName] = useOver(base);
  const canLie = !!base.time && base.chart !== "heatmap" && base.chart !== "summary";
  const over = useAnswer("panel", overName && canLie ? { question: overName, run, ...part } : null).data;
  const compact = useContext(Compact);
  return (
    <article ref={box} class={wide ? "panel wide" : "panel"} id={`panel-${base.id}`} aria-busy={part && finer.stale ? "true" : undefined}>
      <div class="panel-head">
        <h3 title={compact ? base.about : undefined}>
          {base.title}
          {base.own && !base.carried && <span class="tag">own question</span>}
          {base.carried && (
            <span class="tag" title="This statement came with an imported file. It can read only the runs that carried it.">
              came with the run
            </span>
          )}
        </h3>
        <PanelTools panel={panel} runs={runs} chart={drawing} params={params} />
      </div>
      {base.about && !compact && <p class="about">{base.about}</p>}
      {finer.error && (
        <p class="error" role="alert">
          {finer.error.message}
        </p>
      )}
      {panel.quiet ? (
        <p class="quiet">{panel.quiet === "zero" ? "All values are zero in this time range." : "No rows in this time range."}</p>
      ) : (
        <div ref={drawing}>
          <Drawing panel={panel} runs={runs} over={over?.time ? over : undefined} />
        </div>
      )}
      {!!panel.time?.left_out && <p class="quiet">{`${panel.time.left_out} more series with lower values are not shown.`}</p>}
      {!compact && <Sql sql={base.sql} id={base.id} />}
    </article>
  );
}

/** Seconds to the millisecond: what is asked twice has the same text. */
const round = (s: number) => Math.round(s * 1000) / 1000;

function PanelTools({
  panel,
  runs,
  chart,
  params,
}: Omit<PanelProps, "base" | "wide"> & { panel: Panel; chart: { current: HTMLElement | null } }) {
  return (
    <div class="panel-tools">
      <Axes panel={panel} />
      {!offline && (
        <a
          href={link("/ask", { question: panel.id, run: runs.map((r) => r.id), ...params })}
          title="Change this question and look at the answer"
        >
          edit
        </a>
      )}
      <TakeAway title={panel.title} chart={panel.quiet ? undefined : chart} rows={() => sheetOf(panel, runs)} sql={panel.sql.trim()} />
    </div>
  );
}

/** How the values of a chart over time lie, and what is drawn over it. */
function Axes({ panel }: { panel: Panel }) {
  const beside = useContext(Beside);
  const [log, turn] = useLog(panel);
  const [over, choose] = useOver(panel);
  if (!panel.time || !["line", "stacked"].includes(panel.chart)) return null;
  const offered = beside.filter((other) => other.id !== panel.id);
  return (
    <>
      {panel.chart === "line" && (
        <button type="button" class="link" aria-pressed={log} title="Equal steps for equal ratios: a logarithmic axis" onClick={turn}>
          log
        </button>
      )}
      {(offered.length > 0 || over) && (
        <select
          class="over"
          aria-label={`draw over ${panel.title}`}
          title="Draw another question over this one, with an axis on the right"
          value={over ?? ""}
          onChange={(e) => choose(e.currentTarget.value || null)}
        >
          <option value="">over …</option>
          {over && !offered.some((o) => o.id === over) && <option value={over}>{over}</option>}
          {offered.map((o) => (
            <option key={o.id} value={o.id}>
              {o.title}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

/** The answer alone; `over` is drawn over a chart over time. */
export function Drawing({ panel, runs, over }: { panel: Panel; runs: Run[]; over?: Panel }) {
  const { time, table } = panel;
  if (panel.error)
    return (
      <p class="error" role="alert">
        {panel.error}
      </p>
    );
  if (panel.chart === "summary" && (time || table)) return <Summary panel={panel} runs={runs} />;
  if (time) {
    const hosts = [...new Set(time.series.flatMap((s) => s.host ?? []))];
    if (panel.chart === "line" || (panel.chart === "stacked" && runs.length === 1 && hosts.length < 2))
      return <TimeChart panel={panel} time={time} runs={runs} over={over} />;
    // Stacks and heat maps of several runs cannot lie over each other, nor stacks of several hosts: one chart each.
    const present = [...new Set(time.series.map((s) => s.run))].sort((a, b) => a - b);
    const of = (r: number) => hosts.filter((h) => time.series.some((s) => s.run === r && s.host === h));
    return (
      <>
        {present.map((r) => (
          <div key={r}>
            {runs.length > 1 && (
              <h4>
                <RunColour run={r} /> {runs[r].name}
              </h4>
            )}
            {panel.chart === "heatmap" ? (
              <HeatMap panel={panel} time={time} runs={runs} only={r} />
            ) : (
              (hosts.length ? of(r) : [undefined]).map((host) => (
                <div key={host}>
                  {host && <h4>{host}</h4>}
                  <TimeChart panel={panel} time={time} runs={runs} only={r} host={host} over={over} />
                </div>
              ))
            )}
          </div>
        ))}
      </>
    );
  }
  if (!table) return <p class="quiet">no data</p>;
  if (TABLE_CHARTS.includes(panel.chart)) return <TableChart panel={panel} table={table} />;
  if (panel.chart === "tiles") return <Tiles panel={panel} table={table} runs={runs} />;
  if (panel.chart === "bar") return <Bars panel={panel} table={table} />;
  return <Table panel={panel} table={table} />;
}

export function Sql({ sql, id }: { sql: string; id: string }) {
  return (
    <details class="sql">
      <summary>SQL</summary>
      <pre tabIndex={0}>{sql.trim()}</pre>
      <p class="quiet">{`fenxi ask ${id}`}</p>
    </details>
  );
}

/** About the height of a panel before its answer is here, pixels. */
export function guess(header: Header): number {
  const heights: Record<string, number> = { line: 370, stacked: 370, heatmap: 420, tiles: 190, bar: 330, summary: 520, table: 480 };
  return heights[header.chart] ?? 400;
}
