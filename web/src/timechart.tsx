// Lines over time with a band from the minimum to the maximum, and stacked areas.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { paintsOf, partOf } from "./activity";
import { head, sharedAddress, timesOf } from "./bins";
import { resampled, suitsLog, useLog } from "./charts/axis";
import { lonePoints } from "./charts/lone";
import { useHeight } from "./compact";
import { useShown } from "./hidden";
import { Legend, type Entry } from "./legend";
import { describe, moments, REACH } from "./marks";
import { type Numbers, type Panel, type Run, type SeriesData, type TimeData, unpack } from "./payload";
import { chartKeys, plot, type Shade } from "./plot";
import { colour, theme, useNear, useShared, useWidth } from "./shared";
import { tip } from "./tooltip";
import { human, plain, words } from "./units";

/** So many series are shown at first; the others wait in the legend. */
const SHOWN = 12;
/** So many series of a question that is drawn over another one are shown. */
const OVER = 6;
/** A limit over stacked areas. */
const LIMIT = "#7d8590";
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

interface Props {
  panel: Panel;
  time: TimeData;
  runs: Run[];
  /** Series of one run, when the chart shows only that. */
  only?: number;
  /** Series of one host, when a run has several and the chart shows only that. */
  host?: string;
  /** Another question over time, drawn over this one with an axis on the right. */
  over?: Panel;
}

export function seriesName(s: SeriesData, runs: Run[], alone: boolean): string {
  if (runs.length === 1) return words(s.name, s.unit);
  return alone ? runs[s.run].name : `${words(s.name, s.unit)} · ${runs[s.run].name}`;
}

/** The meaning of a series: that of the column it comes from. */
export function meaning(panel: Panel, name: string): string | undefined {
  return panel.columns[name]?.doc ?? panel.columns[name.slice(name.lastIndexOf(" ") + 1)]?.doc;
}

const isZero = (s: SeriesData) => s.stats.min === 0 && s.stats.max === 0;

/** Ranked by mean, the most first; those of one name together when runs are compared. */
function ranked(series: readonly SeriesData[]): SeriesData[] {
  const most = new Map<string, number>();
  for (const s of series) most.set(s.name, Math.max(most.get(s.name) ?? -Infinity, s.stats.avg ?? -Infinity));
  return [...series].sort((a, b) => most.get(b.name)! - most.get(a.name)! || a.name.localeCompare(b.name) || a.run - b.run);
}

/** The series of what is drawn over a chart, the largest first. */
function seriesOver(over: Panel | undefined, only: number | undefined): SeriesData[] {
  const all = over?.time?.series.filter((s) => (only === undefined || s.run === only) && !isZero(s)) ?? [];
  return ranked(all).slice(0, OVER);
}

/** The series of one run, or of one of its hosts, which their names need not say then. */
function onlyOf(series: SeriesData[], only?: number, host?: string): SeriesData[] {
  const mine = only === undefined ? series : series.filter((s) => s.run === only);
  if (host === undefined) return mine;
  return mine.filter((s) => s.host === host).map((s) => ({ ...s, name: s.name.slice(host.length + 1) }));
}

export function TimeChart({ panel, time, runs, only, host, over }: Props) {
  const stacked = panel.chart === "stacked";
  const box = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const width = useWidth(box);
  const height = useHeight(width);
  const mode = useShared(theme);
  const [log] = useLog(panel);
  const happened = useShared(moments).filter((m) => only === undefined || m.run === only);
  const [series, lower] = useMemo(() => {
    const mine = onlyOf(time.series, only, host);
    const own = stacked || (mine.length <= SHOWN && !mine.some(isZero)) ? mine : ranked(mine);
    return [[...own, ...seriesOver(over, only)], own.length] as [SeriesData[], number];
  }, [time, only, host, over]);
  // The finer bins of the two: a coarse value holds for all of them.
  const grid = over?.time && over.time.step < time.step ? over.time : time;
  const times = useMemo(() => timesOf(grid, only === undefined ? runs : [runs[only]]), [grid, runs, only]);
  const isOver = (i: number) => i >= lower;
  const unitOf = (i: number) => (isOver(i) ? (over?.unit ?? "") : panel.unit);
  const values = (i: number, packed = series[i].avg): Numbers => {
    const from = isOver(i) && over?.time ? over.time : time;
    return from === grid ? unpack(packed) : resampled(unpack(packed), from, times);
  };
  const usual = useMemo(() => {
    const own = [...series.keys()].slice(0, lower);
    const loud = own.filter((i) => !isZero(series[i]));
    return new Set([...(loud.length > 0 ? loud : own).slice(0, SHOWN), ...[...series.keys()].slice(lower)]);
  }, [series]);
  const keys = series.map((s, i) => (isOver(i) ? `${over?.id}:` : "") + (runs.length > 1 ? `${s.name}@${s.run}` : s.name));
  const [shown, setShown] = useShown(panel.id, keys, usual);
  const alone = !over && new Set(series.map((s) => s.name)).size === 1;
  const distinct = [...new Set(series.map((s) => s.name))];
  const byRun = runs.length > 1 && only === undefined;
  // Of several servers a series has the server's name before that of its column.
  const columnOf = (s: SeriesData) => panel.y.find((y) => s.name === y || s.name.endsWith(` ${y}`)) ?? s.name;
  const isLine = series.map((s, i) => stacked && (isOver(i) || (panel.lines ?? []).includes(columnOf(s))));
  const own = paintsOf(series.map(columnOf), isLine);
  // Classes of activity are called as the field calls them; one server need not be named with each of them.
  const servers = new Set(series.map((s) => s.name.slice(0, s.name.length - columnOf(s).length)));
  const whole = series.map((s, i) => {
    const part =
      own && !byRun && !isOver(i) && servers.size === 1 && (partOf(columnOf(s)) ?? (isLine[i] ? words(columnOf(s), s.unit) : undefined));
    return part || seriesName(s, only === undefined ? runs : [runs[0]], alone);
  });
  const address = sharedAddress(whole.slice(0, lower));
  const names = whole.map((name) => (name.startsWith(address) ? name.slice(address.length) : name));
  const look = (i: number) => {
    // Over areas of any colour only that of the text is seen.
    if (isOver(i) && stacked) return { stroke: mode === "dark" ? "#ffffff" : "#111111", dash: DASHES[1 + ((i - lower) % 3)] };
    if (isOver(i)) return { stroke: colour(byRun ? series[i].run : i), dash: DASHES[1] };
    if (isLine[i]) return { stroke: LIMIT, dash: DASHES[1] };
    if (stacked && own && !byRun) return { stroke: own[i], dash: DASHES[0] };
    const place = distinct.indexOf(series[i].name);
    return byRun
      ? { stroke: colour(series[i].run), dash: DASHES[place % DASHES.length] }
      : { stroke: colour(i), dash: DASHES[Math.floor(i / 12) % DASHES.length] };
  };

  useEffect(() => {
    const target = box.current;
    if (!near || !target || width < 60) return;
    const drawn = series.map((_, i) => i).filter((i) => shown.has(i));
    const areas = drawn.filter((i) => !isLine[i] && !isOver(i));
    const built = stacked ? stack(areas, values, look) : lines(series, areas, values, look);
    for (const i of drawn.filter((i) => isLine[i] || isOver(i))) {
      const { stroke, dash } = look(i);
      built.data.push(values(i));
      built.series.push({ stroke, dash, width: isOver(i) ? 1.6 : 2, points: { show: false }, ...(isOver(i) ? { scale: "right" } : {}) });
    }
    const onHover = (place: number | null, chart: uPlot, event: MouseEvent | null) => {
      if (place === null || !event) return tip.set(null);
      const rows = drawn.map((i) => ({ i, value: values(i)[place] ?? null }));
      const y = chart.posToVal(event.clientY - chart.over.getBoundingClientRect().top, "y");
      let nearest = drawn[0];
      if (!stacked) {
        let best = Infinity;
        const top = event.clientY - chart.over.getBoundingClientRect().top;
        for (const r of rows) {
          const gap = r.value === null ? Infinity : Math.abs(chart.valToPos(r.value, isOver(r.i) ? "right" : "y") - top);
          if (gap < best) [best, nearest] = [gap, r.i];
        }
      } else {
        let sum = 0;
        for (const r of rows.filter((r) => !isLine[r.i] && !isOver(r.i))) {
          sum += r.value ?? 0;
          nearest = r.i;
          if (sum >= y) break;
        }
      }
      if (!stacked) rows.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity));
      else rows.reverse();
      const lines = rows.slice(0, SHOWN).map(({ i, value }) => {
        const [lo, hi] = [series[i].min, series[i].max].map((p) => (p ? (values(i, p)[place] ?? null) : null));
        const spread = lo !== null && hi !== null && !stacked && hi > lo ? ` (${human(lo, unitOf(i))} … ${human(hi, unitOf(i))})` : "";
        return { colour: look(i).stroke, name: names[i], value: human(value, unitOf(i)) + spread, near: i === nearest };
      });
      const second = chart.posToVal(REACH, "x") - chart.posToVal(0, "x");
      const pointer = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
      tip.set({
        x: event.clientX,
        y: event.clientY,
        head: head(times[place], grid.step, runs, only, times[place] - (times[place - 1] ?? -Infinity)),
        lines,
        notes: describe(happened, pointer, second, runs),
        more: rows.length > SHOWN ? `and ${rows.length - SHOWN} more` : undefined,
        meaning: nearest === undefined ? undefined : meaning(isOver(nearest) && over ? over : panel, series[nearest].name),
      });
    };
    const hasRight = drawn.some(isOver);
    const { destroy } = plot(target, {
      width,
      height,
      unit: panel.unit,
      log,
      right: over && hasRight ? { unit: over.unit, log: suitsLog(over, over.time) } : undefined,
      moments: happened,
      data: [times, ...built.data] as uPlot.AlignedData,
      series: built.series,
      bands: built.bands,
      shades: shadesOf(only === undefined ? runs : [runs[only]]),
      onHover,
    });
    return () => {
      tip.set(null);
      destroy();
    };
  }, [near, width, mode, shown, series, log, happened.length]);

  const entries: Entry[] = series.map((s, i) => ({
    name: names[i],
    colour: look(i).stroke,
    dashed: look(i).dash.length > 0,
    value: plain(s.stats.avg, unitOf(i)) + (isOver(i) ? " →" : ""),
    zero: isZero(s),
    title: [
      `average ${human(s.stats.avg, unitOf(i))}, min ${human(s.stats.min, unitOf(i))}, max ${human(s.stats.max, unitOf(i))}`,
      isOver(i) && "on the right axis",
      meaning(isOver(i) && over ? over : panel, s.name),
    ]
      .filter(Boolean)
      .join(". "),
  }));
  return (
    <div>
      <div
        class="chart"
        ref={box}
        tabIndex={0}
        role="img"
        aria-label={`${panel.title}: ${names.slice(0, SHOWN).join(", ")} over time. Arrows move the pointer, plus and minus zoom, Escape shows all.`}
        onKeyDown={chartKeys(times)}
        style={{ minHeight: `${height}px` }}
      />
      <Legend entries={entries} shown={shown} onChange={setShown} first={SHOWN} />
    </div>
  );
}

/** Warm-up and named windows of the run shown; of several runs none, for they differ. */
export function shadesOf(runs: Run[]): Shade[] {
  const run = runs.length === 1 ? runs[0] : undefined;
  if (!run) return [];
  const named = (run.windows ?? []).map((w) => ({ name: w.name, from: w.from_s, to: w.to_s }));
  const warm = run.warmup_s && !named.some((w) => w.name === "warmup") ? [{ name: "warm-up", from: 0, to: run.warmup_s }] : [];
  return [...warm, ...named];
}

type Look = (i: number) => { stroke: string; dash: number[] };
interface Built {
  data: Numbers[];
  series: uPlot.Series[];
  bands: uPlot.Band[];
}

/** The values of a series by place, or of one of its packed limits. */
type Values = (i: number, packed?: SeriesData["avg"]) => Numbers;

function lines(series: SeriesData[], drawn: number[], values: Values, look: Look): Built {
  const built: Built = { data: [], series: [], bands: [] };
  // Bands of many lines would hide each other.
  const banded = drawn.length <= 4;
  for (const i of drawn) {
    const s = series[i];
    const { stroke, dash } = look(i);
    if (banded && s.min && s.max) {
      const at = built.data.length + 1;
      built.data.push(values(i, s.max), values(i, s.min));
      const edge = { stroke: "transparent", width: 0, points: { show: false } };
      built.series.push(edge, edge);
      built.bands.push({ series: [at, at + 1], fill: `${stroke}2e` });
    }
    built.data.push(values(i));
    built.series.push({ stroke, dash, width: 1.6, points: lonePoints(values(i), stroke) });
  }
  return built;
}

function stack(drawn: number[], values: Values, look: Look): Built {
  const built: Built = { data: [], series: [], bands: [] };
  let below: Numbers | null = null;
  for (const i of drawn) {
    const sum: Numbers = values(i).map((v, k) =>
      v === null && (below === null || below[k] === null) ? null : (v ?? 0) + (below?.[k] ?? 0),
    );
    below = sum;
    const { stroke } = look(i);
    // The highest sum is drawn first, each smaller one over it.
    built.data.unshift(sum);
    built.series.unshift({ stroke, fill: stroke, width: 0.5, points: { show: false } });
  }
  return built;
}
