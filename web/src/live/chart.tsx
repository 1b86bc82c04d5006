// A chart that slides: the last minutes of some series.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Legend, type Entry } from "../legend";
import type { LiveData, Stream } from "./data";
import { axes } from "../plot";
import { colour, theme, useNear, useShared, useWidth, zone } from "../shared";
import { tip } from "../tooltip";
import { human, moment, words } from "../units";

const SHOWN = 12;
const HEIGHT = 180;

interface Props {
  title: string;
  streams: Stream[];
  data: LiveData;
  /** Counts the ticks: the chart moves when it changes. */
  turn: number;
  unit: string;
  stacked: boolean;
  span_s: number;
  meaning: (stream: Stream) => string | undefined;
  /** Takes a whole row. */
  wide: boolean;
  /** In the place of the usual colours, one for each series. */
  paints?: string[];
  /** A line over all that is stacked, with its name. */
  limit?: { name: string; value: number };
  /** What is drawn by dragging, seconds since the epoch; it stays marked as it slides. */
  range?: [number, number] | null;
  onRange?: (range: [number, number] | null) => void;
}

/** A limit over stacked areas. */
const LIMIT = "#7d8590";
/** Moves of the pointer up to this are a click, not a time range, pixels. */
const STILL = 3;

function nameOf(stream: Stream, several: boolean, unit: string): string {
  return [stream.label, several || !stream.label ? words(stream.column, unit) : ""].filter(Boolean).join(" ");
}

export function LiveChart(props: Props) {
  const { title, streams, data, turn, unit, stacked, span_s, meaning, wide, paints, limit, range = null, onRange } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const near = useNear(box);
  const width = useWidth(box);
  const mode = useShared(theme);
  const clock = useShared(zone);
  const keys = streams.map((s) => s.key).join("\n");
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(() => new Set(streams.map((_, i) => i).filter((i) => i < SHOWN && !hidden.has(i))), [keys, hidden]);
  const several = new Set(streams.map((s) => s.column)).size > 1;
  const drawn = [...shown];
  const paint = (i: number) => paints?.[i] ?? colour(i);
  const latest = useRef({ streams, data, drawn, range, onRange });
  latest.current = { streams, data, drawn, range, onRange };

  useEffect(() => {
    const target = box.current;
    if (!near || !target || width < 60) return;
    const built = new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [8, 34, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: false },
          y: { range: (_, __, max) => [0, unit === "%" && max > 60 && max <= 100.5 ? 103 : max > 0 ? max * 1.08 : 1] },
        },
        axes: axes(unit, (splits) => splits.map((s) => moment(s * 1000).slice(11, 19))),
        series: [
          {},
          ...drawn.map((i) => ({
            stroke: paint(i),
            width: stacked ? 0.5 : 1.6,
            points: { show: false },
            ...(stacked ? { fill: paint(i) } : {}),
          })),
          ...(limit ? [{ stroke: LIMIT, dash: [7, 4], width: 2, points: { show: false } }] : []),
        ],
        cursor: { y: false, points: { show: false }, drag: { x: Boolean(onRange), y: false, setScale: false, dist: STILL } },
        hooks: {
          draw: [(u) => latest.current.range && mark(u, latest.current.range)],
          setSelect: [
            (u) => {
              if (u.select.width <= STILL) return;
              const at = (x: number) => u.posToVal(x, "x");
              latest.current.onRange?.([at(u.select.left), at(u.select.left + u.select.width)]);
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      [[], ...drawn.map(() => []), ...(limit ? [[]] : [])],
      target,
    );
    const hover = (e: MouseEvent) => {
      const { streams, data, drawn } = latest.current;
      const place = built.posToIdx(e.clientX - built.over.getBoundingClientRect().left);
      const at = data.times[place];
      if (at === undefined) return tip.set(null);
      const rows = drawn.map((i) => ({
        colour: paint(i),
        name: nameOf(streams[i], several, unit),
        raw: streams[i].values[place] ?? null,
        i,
      }));
      if (!paints) rows.sort((a, b) => (b.raw ?? -1) - (a.raw ?? -1));
      else rows.reverse();
      tip.set({
        x: e.clientX,
        y: e.clientY,
        head: moment(at * 1000),
        lines: rows.map((r) => ({ colour: r.colour, name: r.name, value: human(r.raw, unit) })),
        meaning: rows.length > 0 ? meaning(streams[rows[0].i]) : undefined,
      });
    };
    const leave = () => tip.set(null);
    built.over.addEventListener("mousemove", hover);
    built.over.addEventListener("mouseleave", leave);
    chart.current = built;
    return () => {
      chart.current = null;
      tip.set(null);
      built.destroy();
    };
  }, [near, width, mode, clock, keys, drawn.join(), unit, paints?.join(), limit?.name]);

  useEffect(() => {
    const built = chart.current;
    if (!built || data.times.length === 0) return;
    const end = data.times[data.times.length - 1];
    built.batch(() => {
      const line = limit ? [data.times.map(() => limit.value)] : [];
      built.setData([data.times, ...rowsOf(streams, drawn, stacked), ...line] as uPlot.AlignedData, false);
      built.setScale("x", { min: end - span_s, max: end });
    });
  });

  const entries: Entry[] = streams.map((s, i) => ({
    name: nameOf(s, several, unit),
    colour: paint(i),
    dashed: false,
    value: human(s.values[s.values.length - 1], unit),
    title: meaning(s) ?? s.key,
  }));
  return (
    <article class={wide ? "panel wide" : "panel"} data-turn={turn}>
      <h3>{title}</h3>
      <div
        class="chart"
        ref={box}
        role="img"
        aria-label={`${title}: ${entries
          .slice(0, SHOWN)
          .map((e) => `${e.name} ${e.value}`)
          .join(", ")}`}
        style={{ minHeight: `${HEIGHT}px` }}
      />
      <Legend
        entries={entries}
        shown={shown}
        onChange={(next) => setHidden(new Set(next ? entries.map((_, i) => i).filter((i) => !next.has(i)) : []))}
        first={SHOWN}
      />
      {limit && (
        <p class="quiet limit">
          <span class="swatch" style={{ background: LIMIT }} /> {`${limit.name}: ${human(limit.value, "")}`}
        </p>
      )}
    </article>
  );
}

/** Marks the time range that was chosen. */
function mark(u: uPlot, [from, to]: [number, number]): void {
  const { left, top, width, height } = u.bbox;
  const x = (t: number) => Math.min(left + width, Math.max(left, u.valToPos(t, "x", true)));
  const [begin, end] = [x(from), x(to)];
  if (end <= begin) return;
  u.ctx.save();
  u.ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  u.ctx.globalAlpha = 0.14;
  u.ctx.fillRect(begin, top, end - begin, height);
  u.ctx.restore();
}

/** Values to draw; stacked ones become sums, the highest first. */
function rowsOf(streams: Stream[], drawn: number[], stacked: boolean): (number | null)[][] {
  if (!stacked) return drawn.map((i) => streams[i].values);
  const sums: (number | null)[][] = [];
  for (const i of [...drawn].reverse()) {
    const above = sums[0];
    sums.unshift(streams[i].values.map((v, k) => (v === null && !above ? null : (v ?? 0) + (above?.[k] ?? 0))));
  }
  return sums;
}
