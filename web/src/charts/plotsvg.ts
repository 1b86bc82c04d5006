// A chart of lines as shapes: what uPlot draws on its canvas, drawn again from the same data and scales.

import type uPlot from "uplot";
import { shape, shapes } from "./export";

/** Lets `chart` be taken away as shapes. */
export function drawable(chart: uPlot): void {
  shapes.set(chart.ctx.canvas, () => drawing(chart));
}

let clips = 0;

function drawing(u: uPlot): SVGElement {
  const ratio = devicePixelRatio || 1;
  const [left, top, width, height] = [u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height].map((v) => v / ratio);
  const x = (v: number) => left + u.valToPos(v, "x");
  const of = (scale: string) => (v: number) => top + u.valToPos(v, scale);
  const y = of("y");
  const root = shape("g", {});
  const paint = (of: unknown) => String((typeof of === "function" ? (of as (u: uPlot, i: number) => unknown)(u, 0) : of) ?? "none");
  u.axes.forEach((axis, i) => {
    const name = axis.scale ?? (i === 0 ? "x" : "y");
    const [scale, across] = i === 0 ? [u.scales.x, x] : [u.scales[name], of(name)];
    const splits = (axis as unknown as { _splits?: number[] })._splits ?? [];
    const values = (axis as unknown as { _values?: (string | null)[] })._values ?? [];
    splits.forEach((split, k) => {
      if (scale.min === undefined || split < scale.min! || split > scale.max!) return;
      const at = across(split);
      const line = i === 0 ? { x1: at, x2: at, y1: top, y2: top + height } : { x1: left, x2: left + width, y1: at, y2: at };
      if (axis.grid?.show !== false) root.append(shape("line", { ...line, stroke: paint(axis.grid?.stroke), "stroke-width": 1 }));
      const beside = axis.side === 1 ? { x: left + width + 8, "text-anchor": "start" } : { x: left - 8, "text-anchor": "end" };
      const place = i === 0 ? { x: at, y: top + height + 18, "text-anchor": "middle" } : { ...beside, y: at + 4 };
      root.append(
        shape("text", { ...place, "font-family": "system-ui, sans-serif", "font-size": 12, fill: paint(axis.stroke) }, values[k] ?? ""),
      );
    });
  });
  const clip = `clip-${++clips}`;
  const frame = shape("clipPath", { id: clip });
  frame.append(shape("rect", { x: left, y: top, width, height }));
  const inner = shape("g", { "clip-path": `url(#${clip})` });
  root.append(frame, inner);
  const data = u.data as unknown as (number | null | undefined)[][];
  const points = (series: number): Points => data[0].map((t, i) => [t ?? 0, data[series][i]] as const);
  for (const band of (u as unknown as { bands?: uPlot.Band[] }).bands ?? []) {
    for (const d of areas(points(band.series[0]), points(band.series[1]), x, y)) inner.append(shape("path", { d, fill: paint(band.fill) }));
  }
  u.series.forEach((series, i) => {
    if (i === 0 || !series.show) return;
    const [stroke, fill] = [paint(series.stroke), paint(series.fill)];
    const along = of(series.scale ?? "y");
    if (fill !== "none") {
      const floor = points(i).map(([t, v]) => [t, v === null || v === undefined ? v : (u.scales.y.min ?? 0)] as const);
      for (const d of areas(points(i), floor, x, y)) inner.append(shape("path", { d, fill }));
    }
    if (stroke === "transparent" || stroke === "none") return;
    const dash = (series.dash ?? []).join(" ");
    inner.append(
      shape("path", {
        d: line(points(i), x, along),
        fill: "none",
        stroke,
        "stroke-width": series.width ?? 1,
        "stroke-linecap": dash ? "butt" : "round",
        ...(dash ? { "stroke-dasharray": dash } : {}),
      }),
    );
  });
  return root;
}

type Points = (readonly [number, number | null | undefined])[];
type Place = (v: number) => number;

/** A gap begins a new line; a value between gaps is a line without length, which round ends make a dot. */
function line(points: Points, x: Place, y: Place): string {
  let pen = false;
  const isMissing = (i: number) => (points[i]?.[1] ?? null) === null;
  return points
    .map(([t, v], i) => {
      if (v === null || v === undefined) {
        pen = false;
        return "";
      }
      const dot = !pen && isMissing(i + 1) ? "h0" : "";
      const step = `${pen ? "L" : "M"}${x(t).toFixed(1)} ${y(v).toFixed(1)}${dot}`;
      pen = true;
      return step;
    })
    .join("");
}

/** Areas between two lines, one for each part without a gap. */
function areas(upper: Points, lower: Points, x: Place, y: Place): string[] {
  const out: string[] = [];
  let run: number[] = [];
  const close = () => {
    if (run.length > 1) {
      const there = run.map((i) => `${x(upper[i][0]).toFixed(1)} ${y(upper[i][1]!).toFixed(1)}`);
      const back = [...run].reverse().map((i) => `${x(lower[i][0]).toFixed(1)} ${y(lower[i][1]!).toFixed(1)}`);
      out.push(`M${[...there, ...back].join("L")}Z`);
    }
    run = [];
  };
  upper.forEach(([, v], i) => {
    const w = lower[i]?.[1];
    if (v === null || v === undefined || w === null || w === undefined) close();
    else run.push(i);
  });
  close();
  return out;
}
