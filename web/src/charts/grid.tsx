// A field of coloured cells over time: the one drawing of every heat map (series × time, latency × time of
// histograms, the difference of two runs).

import { useEffect, useMemo, useRef } from "preact/hooks";
import { drawMoments, moments, REACH, describe as describeMoments } from "../marks";
import { chartKeys } from "../plot";
import { cursor, extent, theme, useNear, useShared, useWidth, zoom } from "../shared";
import { type Tip, tip } from "../tooltip";
import { clock, words } from "../units";
import { LEFT, RIGHT } from "./axes";
import { linear } from "./scale";
import "./charts.css";

export interface Cell {
  /** Seconds. */
  from: number;
  to: number;
  /** Pixels from the top of the field. */
  top: number;
  height: number;
  rgb: [number, number, number];
}

interface Props {
  label: string;
  /** Ends of the columns, seconds, for the keys. */
  times: number[];
  span: [number, number];
  height: number;
  /** Gone over once for each drawing; a cell is not kept, so that it may be the same object each time. */
  cells: Iterable<Cell>;
  /** Names at the left: where and what. */
  names: [number, string][];
  /** The run that it shows, where there are several; moments of others are not drawn. */
  only?: number;
  /** What is under the pointer. */
  describe: (t: number, y: number) => Omit<Tip, "x" | "y"> | null;
}

/** Rows of equal height beneath each other. */
export interface Bands {
  /** Pixels from one to the next. */
  high: number;
  /** Pixels that are filled: of thick ones a line is left between two. */
  filled: number;
  /** Pixels of all. */
  height: number;
  /** Those names for which there is room, as `Grid` wants them. */
  names: [number, string][];
}

export function bands(names: string[]): Bands {
  const high = Math.max(4, Math.min(18, Math.floor(320 / Math.max(1, names.length))));
  const minimum = Math.ceil(14 / high);
  const every = [1, 2, 4, 8, 16, 32, 64, 128].find((n) => n >= minimum) ?? minimum;
  const shown = names.flatMap((name, r) => (r % every === 0 ? [[r * high + high / 2 + 1, words(name)] as [number, string]] : []));
  return { high, filled: high - (high > 8 ? 1 : 0), height: names.length * high, names: shown };
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif';
/** Beside the names of rows, pixels. */
const GAP = 12;
/** So wide are names at most, pixels and share of the chart. */
const WIDEST = [170, 0.3];
let ruler: CanvasRenderingContext2D | null = null;

/** Where columns begin: as in other charts, so that times stand beneath each other, or further right where names need it. */
function leftOf(names: [number, string][], width: number): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  ruler.font = FONT;
  let wide = 0;
  for (const [, name] of names) wide = Math.max(wide, ruler.measureText(name).width);
  return Math.max(LEFT, Math.ceil(Math.min(wide + GAP, WIDEST[0], WIDEST[1] * width)));
}

/** As much of a name as fits into `room` pixels. */
function fitting(g: CanvasRenderingContext2D, name: string, room: number): string {
  if (g.measureText(name).width <= room) return name;
  let end = name.length - 1;
  while (end > 1 && g.measureText(`${name.slice(0, end)}…`).width > room) end--;
  return `${name.slice(0, end)}…`;
}

const BELOW = 22;
const STEPS = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 86400];

export function Grid({ label, times, span, height, cells, names, only, describe }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const select = useRef<HTMLDivElement>(null);
  const drag = useRef<number | null>(null);
  const near = useNear(box);
  const width = useWidth(box);
  const mode = useShared(theme);
  const [zoomed, whole] = [useShared(zoom), useShared(extent)];
  const range = zoomed ?? whole ?? span;
  const left = useMemo(() => leftOf(names, width), [names, width]);
  const inner = Math.max(10, width - left - RIGHT);
  const xs = linear(range, [left, left + inner]);
  const [from, to] = range;
  const happened = useShared(moments).filter((m) => only === undefined || m.run === only);

  useEffect(() => {
    const c = canvas.current;
    if (!near || !c || width < 60) return;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = (height + BELOW) * ratio;
    const g = c.getContext("2d")!;
    g.scale(ratio, ratio);
    for (const cell of cells) {
      if (cell.to < from || cell.from > to) continue;
      const [begin, end] = [Math.max(left, xs.at(cell.from)), Math.min(left + inner, xs.at(cell.to))];
      g.fillStyle = `rgb(${cell.rgb.join(",")})`;
      g.fillRect(begin, cell.top, end - begin + 0.6, cell.height);
    }
    drawMoments(g, happened, xs.at, { left, top: 0, width: inner, height }, 1);
    g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--muted");
    g.font = FONT;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const [y, name] of names) g.fillText(fitting(g, name, left - 8), left - 6, Math.max(7, y));
    g.textAlign = "center";
    const step = STEPS.find((s) => ((to - from) / s) * 70 <= inner) ?? 86400;
    for (let t = Math.ceil(from / step) * step; t <= to; t += step)
      g.fillText(clock(t, step < 1), Math.min(xs.at(t), width - 20), height + 13);
  }, [near, width, mode, from, to, cells, names, left, height, happened.length]);

  useEffect(
    () =>
      cursor.on((t) => {
        if (!line.current) return;
        const at = t === null ? -1 : xs.at(t);
        line.current.style.display = at >= left && at <= left + inner ? "block" : "none";
        line.current.style.left = `${at}px`;
      }),
    [from, to, left, inner],
  );

  const place = (e: MouseEvent) => Math.min(left + inner, Math.max(left, e.clientX - box.current!.getBoundingClientRect().left));
  const move = (e: MouseEvent) => {
    const frame = box.current!.getBoundingClientRect();
    const [px, begin] = [place(e), drag.current];
    const t = xs.value(px);
    cursor.set(t);
    if (begin !== null && select.current)
      Object.assign(select.current.style, { display: "block", left: `${Math.min(px, begin)}px`, width: `${Math.abs(px - begin)}px` });
    const noted = describe(t, e.clientY - frame.top);
    const second = (REACH * (to - from)) / inner;
    tip.set(noted && { x: e.clientX, y: e.clientY, notes: describeMoments(happened, t, second, []), ...noted });
  };
  const drop = (e?: MouseEvent) => {
    const begin = drag.current;
    drag.current = null;
    if (select.current) select.current.style.display = "none";
    const end = e ? place(e) : begin;
    if (begin !== null && end !== null && Math.abs(end - begin) > 3)
      zoom.set([xs.value(Math.min(begin, end)), xs.value(Math.max(begin, end))]);
  };
  const leave = () => {
    drop();
    cursor.set(null);
    tip.set(null);
  };
  const events = {
    onKeyDown: chartKeys(times),
    onMouseMove: move,
    onMouseLeave: leave,
    onMouseDown: (e: MouseEvent) => {
      drag.current = place(e);
      e.preventDefault();
    },
    onMouseUp: drop,
    onDblClick: () => zoom.set(null),
  };
  return (
    <div class="chart heat" ref={box} tabIndex={0} role="img" aria-label={label} style={{ height: `${height + BELOW}px` }} {...events}>
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${height + BELOW}px` }} />
      <div class="heat-line" ref={line} style={{ height: `${height}px` }} />
      <div class="heat-select" ref={select} style={{ height: `${height}px` }} />
    </div>
  );
}
