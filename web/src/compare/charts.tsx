// The questions asked of both groups: series over each other, heat maps side by side and as a difference, flame
// graphs and distributions of A against B.

import { useMemo, useRef, useState } from "preact/hooks";
import { ApiError, offline, useAnswer, useAnswers } from "../api";
import { Flame } from "../charts/flame";
import type { Folded } from "../charts/flame-tree";
import { DifferenceMap } from "../charts/diffmap";
import { type Bucket, Histogram } from "../charts/histogram";
import { sheetOf } from "../charts/sheet";
import { TakeAway } from "../charts/takeaway";
import { HeatMap } from "../heatmap";
import { Failure } from "../parts";
import type { Header, Panel, Run } from "../payload";
import { link, refine } from "../router";
import { settled, useNear, useSeen, useShared } from "../shared";
import { useZoomInLink } from "../zoomlink";
import { Overlay } from "./overlay";
import { Shifts, type Timed } from "./shifts";
import type { Comparison } from "./types";

/** Charts that two groups can share. */
export const SHARED = ["line", "stacked", "heatmap", "histogram"];

/** `shift=ID:SECONDS` of the address. */
function shiftsOf(query: URLSearchParams): Map<string, number> {
  return new Map(
    query.getAll("shift").map((text) => {
      const at = text.lastIndexOf(":");
      const seconds = Number(text.slice(at + 1));
      return [text.slice(0, at), Number.isFinite(seconds) ? seconds : 0] as const;
    }),
  );
}

export function Charts({ found, more, query }: { found: Comparison; more: Comparison[]; query: URLSearchParams }) {
  const groups = [found.a, found.b, ...more.map((m) => m.b)];
  const text = [...new Set(groups.flatMap((g) => g.runs.map((r) => r.id)))].join();
  const ids = useMemo(() => text.split(","), [text]);
  const opened = useAnswer("run", { run: ids });
  const runs = opened.data?.runs ?? [];
  const shifts = shiftsOf(query);
  const timed: Timed[] = runs.map((r) => ({
    id: r.id,
    name: r.name,
    duration: r.duration_s,
    shift: shifts.get(r.id) ?? 0,
    side: Math.max(
      0,
      groups.findIndex((g) => g.runs.some((m) => m.id === r.id)),
    ),
  }));
  const onShift = (id: string, seconds: number) => {
    if (seconds === 0) shifts.delete(id);
    else shifts.set(id, seconds);
    refine({ shift: [...shifts].map(([run, s]) => `${run}:${s}`) });
  };
  const [minimum, most] = [Math.min(0, ...timed.map((t) => t.shift)), Math.max(0, ...timed.map((t) => t.shift + t.duration))];
  useZoomInLink(query, minimum, most);
  if (opened.error) return <Failure error={opened.error} />;
  const sections = (opened.data?.sections ?? [])
    .map((s) => ({ ...s, panels: s.panels.filter((p) => SHARED.includes(p.chart)) }))
    .filter((s) => s.panels.length > 0);
  return (
    <section id="section-charts">
      <h2>Over time</h2>
      {timed.length > 0 && <Shifts runs={timed} onShift={onShift} />}
      {sections.map((s) => (
        <Section key={s.id} title={s.title} panels={s.panels} runs={runs} timed={timed} />
      ))}
      {runs.some((r) => r.tables?.some((t) => t.table === "stack")) && <Flames found={found} ids={ids} />}
    </section>
  );
}

function Section({ title, panels, runs, timed }: { title: string; panels: Header[]; runs: Run[]; timed: Timed[] }) {
  const box = useRef<HTMLDivElement>(null);
  const near = useNear(box, 1000);
  const run = runs.map((r) => r.id);
  const answers = useAnswers("panel", near || offline ? panels.map((p) => ({ question: p.id, run })) : null);
  const here = answers.length > 0 && answers.every((a) => a !== undefined);
  const loud = answers
    .map((a, i): Panel => (a instanceof ApiError ? { ...panels[i], columns: {}, error: a.message } : a!))
    .filter((p) => p && !p.quiet);
  if (here && loud.length === 0) return <span class="quiet nothing-here" ref={box}>{`${title}: no activity in any run.`}</span>;
  return (
    <div ref={box}>
      <h3 class="part-title">{title}</h3>
      {here ? (
        <div class="panels">
          {loud.map((p, i) => (
            <Shared key={p.id} base={p} runs={runs} timed={timed} wide={isWide(loud, i)} />
          ))}
        </div>
      ) : (
        <div
          class="waiting"
          style={{ minHeight: `${panels.length * 160}px` }}
        >{`${answers.filter((a) => a !== undefined).length} of ${panels.length} answers loaded`}</div>
      )}
    </div>
  );
}

/** Maps take a row; so does a chart that would stand beside nothing. */
function isWide(panels: Panel[], place: number): boolean {
  const map = (p: Panel | undefined) => !p || p.chart === "heatmap";
  if (map(panels[place])) return true;
  let first = place;
  while (first > 0 && !map(panels[first - 1])) first--;
  return (place - first) % 2 === 0 && map(panels[place + 1]);
}

/** `base` answers for whole runs; a time range of runs that are not shifted is asked for alone, finer. */
function Shared({ base, runs, timed, wide }: { base: Panel; runs: Run[]; timed: Timed[]; wide: boolean }) {
  const [box, drawing] = [useRef<HTMLElement>(null), useRef<HTMLDivElement>(null)];
  const seen = useSeen(box);
  const range = useShared(settled);
  const part = range && base.time && !offline && seen && timed.every((t) => t.shift === 0);
  const finer = useAnswer("panel", part ? { question: base.id, run: runs.map((r) => r.id), from: range[0], to: range[1] } : null);
  const panel = part && finer.data?.time && !finer.stale ? finer.data : base;
  return (
    <article
      ref={box}
      class={wide ? "panel wide" : "panel"}
      id={`panel-${panel.id}`}
      aria-busy={part && finer.stale && !finer.error ? "true" : undefined}
    >
      <div class="panel-head">
        <h4>{panel.title}</h4>
        <div class="panel-tools">
          {!offline && (
            <a href={link("/ask", { question: panel.id, run: runs.map((r) => r.id) })} title="Change this question and look at the answer">
              edit
            </a>
          )}
          <TakeAway title={panel.title} chart={drawing} rows={() => sheetOf(panel, runs)} sql={panel.sql.trim()} />
        </div>
      </div>
      <div ref={drawing}>
        {panel.error ? (
          <p class="error" role="alert">
            {panel.error}
          </p>
        ) : panel.time && panel.chart === "heatmap" ? (
          <Maps panel={panel} time={panel.time} runs={runs} timed={timed} />
        ) : panel.time ? (
          <Overlay panel={panel} time={panel.time} runs={timed} />
        ) : panel.table ? (
          <Distributions panel={panel} table={panel.table} timed={timed} runs={runs} />
        ) : (
          <p class="quiet">no data</p>
        )}
      </div>
    </article>
  );
}

interface MapsProps {
  panel: Panel;
  time: NonNullable<Panel["time"]>;
  runs: Run[];
  timed: Timed[];
}

/** One run of each group side by side on the scale of both, and their difference. */
function Maps({ panel, time, runs, timed }: MapsProps) {
  const of = (side: 0 | 1) => timed.flatMap((t, i) => (t.side === side && time.series.some((s) => s.run === i) ? [i] : []));
  const [left, right] = [of(0), of(1)];
  const [a, setA] = useState(left[0]);
  const [b, setB] = useState(right[0]);
  if (a === undefined || b === undefined) return <p class="quiet">Only one group has this series.</p>;
  const choose = (all: number[], now: number, set: (i: number) => void, letter: string) => (
    <h5>
      {`${letter} `}
      {all.length === 1 ? (
        runs[now].name
      ) : (
        <select aria-label={`run of ${letter}`} value={String(now)} onChange={(e) => set(Number(e.currentTarget.value))}>
          {all.map((i) => (
            <option key={i} value={String(i)}>
              {runs[i].name}
            </option>
          ))}
        </select>
      )}
    </h5>
  );
  return (
    <>
      <div class="side-by-side">
        <div>
          {choose(left, a, setA, "A")}
          <HeatMap panel={panel} time={time} runs={runs} only={a} />
        </div>
        <div>
          {choose(right, b, setB, "B")}
          <HeatMap panel={panel} time={time} runs={runs} only={b} />
        </div>
      </div>
      <h5>Difference</h5>
      <DifferenceMap panel={panel} time={time} runs={runs} a={a} b={b} shift={[timed[a].shift, timed[b].shift]} />
    </>
  );
}

/** Distributions of A and B over each other, those of all runs of a group added up. */
function Distributions({ panel, table, timed, runs }: { panel: Panel; table: NonNullable<Panel["table"]>; timed: Timed[]; runs: Run[] }) {
  const at = (name: string | undefined) => table.columns.findIndex((c) => c.name === name);
  const [run, what, lo, hi, unit, count] = ["run", panel.series, panel.x ?? "lo", "hi", "unit", panel.y?.[0] ?? panel.values].map(at);
  if (at("at_s") >= 0) return <p class="quiet">Open the runs to see it over time.</p>;
  const all = new Map<string, { unit: string; sides: [Map<string, Bucket>, Map<string, Bucket>] }>();
  for (const row of table.rows) {
    const side = timed[runs.findIndex((r) => r.name === row[run])]?.side ?? 0;
    if (side > 1) continue;
    const one = all.get(String(row[what])) ?? { unit: String(row[unit] ?? ""), sides: [new Map(), new Map()] };
    all.set(String(row[what]), one);
    const key = `${row[lo]} ${row[hi]}`;
    const bucket = one.sides[side].get(key) ?? { lo: Number(row[lo] ?? 0), hi: row[hi] === null ? null : Number(row[hi]), count: 0 };
    one.sides[side].set(key, { ...bucket, count: bucket.count + Number(row[count] ?? 0) });
  }
  const both = [...all].filter(([, one]) => one.sides.every((s) => s.size > 0)).slice(0, 6);
  if (both.length === 0) return <p class="quiet">The groups have no distribution in common.</p>;
  const sorted = (side: Map<string, Bucket>) => [...side.values()].sort((x, y) => x.lo - y.lo);
  return (
    <>
      {both.map(([name, one]) => (
        <div key={name}>
          <h5>{name}</h5>
          <Histogram
            label={name}
            unit={one.unit}
            all={[
              { name: "A", buckets: sorted(one.sides[0]) },
              { name: "B", buckets: sorted(one.sides[1]) },
            ]}
          />
        </div>
      ))}
    </>
  );
}

/** Stacks of B, coloured by what its frames have more or less than those of A. */
function Flames({ found, ids }: { found: Comparison; ids: string[] }) {
  const answer = useAnswer("stacks", { run: ids });
  const drawing = useRef<HTMLDivElement>(null);
  const sum = (group: Comparison["a"]): Folded => {
    const counts = new Map<string, number>();
    for (const one of answer.data?.runs ?? []) {
      if (!group.runs.some((r) => r.id === one.run)) continue;
      for (const [stack, count] of one.stacks) counts.set(stack, (counts.get(stack) ?? 0) + count);
    }
    return [...counts];
  };
  const [a, b] = useMemo(() => [sum(found.a), sum(found.b)], [answer.data, found]);
  if (!answer.data) return answer.error ? <Failure error={answer.error} /> : null;
  if (a.length === 0 || b.length === 0) return null;
  const title = "Where the code spent its time: B against A";
  const rows = () => ({ head: ["group", "stack", "count"], rows: [...a.map(([s, n]) => ["A", s, n]), ...b.map(([s, n]) => ["B", s, n])] });
  return (
    <article class="panel wide" id="panel-flame-difference">
      <div class="panel-head">
        <h4>{title}</h4>
        <TakeAway title={title} chart={drawing} rows={rows} />
      </div>
      <div ref={drawing}>
        <Flame title={title} stacks={b} others={a} names={["A", "B"]} unit={answer.data.runs[0]?.unit ?? "samples"} />
      </div>
    </article>
  );
}
