// Makes uPlot charts that share the pointer and the zoom with every other chart of the page.

import uPlot from "uplot";
import { RIGHT } from "./charts/axes";
import { drawable } from "./charts/plotsvg";
import { BYTE_STEPS, logarithmic, tickTexts } from "./charts/scale";
import { drawMoments, type Moment } from "./marks";
import { cursor, extent, zoom } from "./shared";
import { clock } from "./units";

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export interface PlotSpec {
  width: number;
  height: number;
  unit: string;
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  bands: uPlot.Band[];
  /** Whether equal steps of the axis are equal ratios. */
  log?: boolean;
  /** The axis on the right, of the series whose scale is `right`. */
  right?: { unit: string; log: boolean };
  /** Parts of the time that have a name; they lie in pale colours behind the lines. */
  shades: Shade[];
  /** What happened at moments. */
  moments?: Moment[];
  /** Called when the pointer of this chart moves: the place in the data, or null when it left. */
  onHover: (place: number | null, chart: uPlot, event: MouseEvent | null) => void;
}

/** A named part of the time, seconds since the start. */
export interface Shade {
  name: string;
  from: number;
  to: number;
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif';
/** Steps of the time axis that read well, seconds. */
const STEPS = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

/** From 0 to a little above the maximum shown; percent end just above 100 when near it, so that a line at 100 shows. */
function range(unit: string): uPlot.Range.Function {
  return (_, min, max) => {
    if (min === null || max === null || !Number.isFinite(max)) return [0, unit === "%" ? 100 : 1];
    const low = min < 0 ? min * 1.08 : 0;
    if (unit === "%" && max > 60 && max <= 100.5) return [low, 103];
    return [low, max > 0 ? max * 1.08 : low < 0 ? 0 : 1];
  };
}

/** The same of a logarithmic axis: a little beyond the values above 0. What is 0 lies below it. */
const logRange: uPlot.Range.Function = (_, min, max) => {
  if (!(min > 0) || !(max > 0)) return [0.1, 10];
  const [low, high] = max / min < 2 ? [min / 2, max * 2] : [min, max];
  return [low / 1.15, high * 1.15];
};

const scaleOf = (unit: string, log: boolean): uPlot.Scale => (log ? { distr: 3, log: 10, range: logRange } : { range: range(unit) });

/** Where values have ticks, and their labels. */
function ticksOf(unit: string, log: boolean, height: number): Partial<uPlot.Axis> {
  const texts: Partial<uPlot.Axis> = { values: (_, splits) => tickTexts(splits, unit) };
  if (!log) return unit.startsWith("B") ? { ...texts, incrs: BYTE_STEPS } : texts;
  const splits = (_: uPlot, __: number, min: number, max: number) => logarithmic([min, max], [height, 0], unit).ticks;
  return { ...texts, splits, filter: (_, splits) => splits };
}

/** The axes of every chart over time: `times` writes the moments. */
export function axes(
  unit: string,
  times: (splits: number[], step: number) => string[],
  { log = false, right, height = 200 }: { log?: boolean; right?: PlotSpec["right"]; height?: number } = {},
): uPlot.Axis[] {
  const grid = { stroke: css("--grid"), width: 1 };
  const axis = { stroke: css("--muted"), font: FONT, grid, ticks: { ...grid, size: 4 } };
  const all: uPlot.Axis[] = [
    { ...axis, space: 70, size: 28, incrs: STEPS, values: (_, splits, __, ___, step) => times(splits, step) },
    { ...axis, size: 76, space: 32, ...ticksOf(unit, log, height) },
  ];
  if (right)
    all.push({ ...axis, scale: "right", side: 1, size: 70, space: 32, ...ticksOf(right.unit, right.log, height), grid: { show: false } });
  return all;
}

/** Draws the shades: before the lines their pale ground, after them a bar on top with their names. */
function shade(u: uPlot, shades: Shade[], part: "ground" | "name"): void {
  const { left, top, width, height } = u.bbox;
  const x = (t: number) => Math.min(left + width, Math.max(left, u.valToPos(t, "x", true)));
  const ratio = devicePixelRatio || 1;
  const g = u.ctx;
  g.save();
  g.font = `600 ${11 * ratio}px system-ui, sans-serif`;
  g.textBaseline = "top";
  g.textAlign = "left";
  for (const { name, from, to } of shades) {
    const [begin, end] = [x(from), x(to)];
    if (end - begin < 1) continue;
    g.fillStyle = css("--accent");
    if (part === "ground") {
      g.globalAlpha = 0.09;
      g.fillRect(begin, top, end - begin, height);
      continue;
    }
    g.fillRect(begin, top, end - begin, 2 * ratio);
    const wide = g.measureText(name).width + 8 * ratio;
    if (wide > end - begin) continue;
    g.globalAlpha = 0.85;
    g.fillStyle = css("--panel");
    g.fillRect(begin, top + 2 * ratio, wide, 15 * ratio);
    g.globalAlpha = 1;
    g.fillStyle = css("--accent");
    g.fillText(name, begin + 4 * ratio, top + 4 * ratio);
  }
  g.restore();
}

/** Draws a chart into `target`; the function returned takes it away again. */
export function plot(target: HTMLElement, spec: PlotSpec): { chart: uPlot; destroy: () => void } {
  const chart = new uPlot(
    {
      width: spec.width,
      height: spec.height,
      padding: [8, spec.right ? 0 : RIGHT, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false },
        y: scaleOf(spec.unit, spec.log === true),
        ...(spec.right ? { right: scaleOf(spec.right.unit, spec.right.log) } : {}),
      },
      axes: axes(spec.unit, (splits, step) => splits.map((s) => clock(s, step < 1)), { ...spec, height: spec.height - 36 }),
      series: [{}, ...spec.series],
      bands: spec.bands,
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            zoom.set(null);
            return null;
          },
        },
      },
      hooks: {
        drawClear: [(u) => shade(u, spec.shades, "ground")],
        draw: [
          (u) => shade(u, spec.shades, "name"),
          (u) => drawMoments(u.ctx, spec.moments ?? [], (t) => u.valToPos(t, "x", true), u.bbox, devicePixelRatio || 1),
        ],
        setSelect: [
          (u) => {
            if (u.select.width > 3) {
              zoom.set([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
            }
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    },
    spec.data,
    target,
  );
  drawable(chart);
  const xs = spec.data[0] as number[];
  let over = false;
  const show = (t: number | null) => {
    if (over) return;
    chart.setCursor(t === null ? { left: -10, top: -10 } : { left: chart.valToPos(t, "x"), top: 5 }, false);
  };
  const showRange = () => {
    const [min, max] = zoom.value ?? extent.value ?? [xs[0], xs[xs.length - 1]];
    // The last bin ends where a bin ends, and so a little after the run: it is shown with the others.
    const beyond = xs[xs.length - 1] - max;
    const isLast = !zoom.value && beyond > 0 && beyond < xs[1] - xs[0];
    chart.setScale("x", { min, max: isLast ? max + beyond : max });
  };
  const move = (e: MouseEvent) => {
    over = true;
    const left = e.clientX - chart.over.getBoundingClientRect().left;
    cursor.set(chart.posToVal(left, "x"));
    spec.onHover(chart.posToIdx(left), chart, e);
  };
  const leave = () => {
    over = false;
    cursor.set(null);
    spec.onHover(null, chart, null);
  };
  chart.over.addEventListener("mousemove", move);
  chart.over.addEventListener("mouseleave", leave);
  const off = [cursor.on(show), zoom.on(showRange), extent.on(showRange)];
  showRange();
  return {
    chart,
    destroy: () => {
      for (const stop of off) stop();
      if (over) leave();
      chart.destroy();
    },
  };
}

/** Keys that move the pointer and the zoom of all charts: arrows, + and -. */
export function chartKeys(times: number[]): (e: KeyboardEvent) => void {
  return (e) => {
    const last = times.length - 1;
    if (last < 1) return;
    const [first, end] = extent.value ?? [times[0], times[last]];
    const [from, to] = zoom.value ?? [first, end];
    const at = cursor.value ?? (from + to) / 2;
    const step = Math.max(times[1] - times[0], (to - from) / 100);
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
      const next = at + (e.key === "ArrowRight" ? step : -step) * (e.shiftKey ? 10 : 1);
      cursor.set(Math.min(to, Math.max(from, next)));
    } else if (e.key === "+" || e.key === "=") {
      const half = (to - from) / 4;
      zoom.set([Math.max(first, at - half), Math.min(end, at + half)]);
    } else if (e.key === "-") {
      const half = to - from;
      const wide: [number, number] = [Math.max(first, at - half), Math.min(end, at + half)];
      zoom.set(wide[0] <= first && wide[1] >= end ? null : wide);
    } else return;
    e.preventDefault();
  };
}
