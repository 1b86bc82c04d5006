// A question's series of both groups over each other, on time since each run's start: the mean of a group's runs as
// a line, A solid and B dashed in their own colours, minimum and maximum over the runs as a band.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { lonePoints } from "../charts/lone";
import { Key } from "../charts/axes";
import { useShown } from "../hidden";
import { Legend } from "../legend";
import { type Numbers, type Panel, type TimeData, unpack } from "../payload";
import { chartKeys, plot } from "../plot";
import { colour, theme, useNear, useShared, useWidth } from "../shared";
import { meaning } from "../timechart";
import { tip } from "../tooltip";
import { clock, human, words } from "../units";
import { LETTERS } from "./more";
import type { Timed } from "./shifts";

/** So many series are shown at first. */
const SHOWN = 3;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const HEIGHT = 220;
/** Fewer values than this may stand so far apart that no line joins them: they are drawn as points. */
const FEW = 20;

interface Line {
  name: string;
  side: number;
  mean: Numbers;
  low: Numbers;
  high: Numbers;
  /** Mean over all of it. */
  average: number | null;
}

export function Overlay({ panel, time, runs }: { panel: Panel; time: TimeData; runs: Timed[] }) {
  const box = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const width = useWidth(box);
  const mode = useShared(theme);
  const moves = runs.map((r) => r.shift).join();
  const { times, lines, names } = useMemo(() => gather(time, runs), [time, moves]);
  const usual = useMemo(() => new Set([...names.keys()].filter((i) => i < SHOWN)), [names]);
  const [shown, setShown] = useShown(panel.id, names, usual);
  const single = names.length === 1;
  const sides = [...new Set(lines.map((l) => l.side))].sort((a, b) => a - b);
  const look = (line: Line) => ({ stroke: colour(line.side), dash: DASHES[names.indexOf(line.name) % DASHES.length] });

  useEffect(() => {
    const target = box.current;
    if (!near || !target || width < 60) return;
    const drawn = lines.filter((l) => shown.has(names.indexOf(l.name)));
    const data: Numbers[] = [];
    const series: uPlot.Series[] = [];
    const bands: uPlot.Band[] = [];
    for (const line of drawn) {
      const { stroke, dash } = look(line);
      if (line.low !== line.mean) {
        const at = data.length + 1;
        data.push(line.high, line.low);
        const edge = { stroke: "transparent", width: 0, points: { show: false } };
        series.push(edge, edge);
        bands.push({ series: [at, at + 1], fill: `${stroke}2e` });
      }
      data.push(line.mean);
      series.push({ stroke, dash, width: 1.6, points: lonePoints(line.mean, stroke, FEW) });
    }
    const onHover = (place: number | null, _: uPlot, event: MouseEvent | null) => {
      if (place === null || !event) return tip.set(null);
      tip.set({
        x: event.clientX,
        y: event.clientY,
        head: `${clock(times[place], time.step < 1)} since the start`,
        lines: drawn.map((l) => {
          const [v, lo, hi] = [l.mean[place], l.low[place], l.high[place]];
          const span = lo !== null && hi !== null && hi > lo ? ` (${human(lo, panel.unit)} … ${human(hi, panel.unit)})` : "";
          return {
            colour: look(l).stroke,
            name: `${LETTERS[l.side]} ${single ? "" : words(l.name, panel.unit)}`.trim(),
            value: human(v, panel.unit) + span,
          };
        }),
        meaning: drawn[0] && meaning(panel, drawn[0].name),
      });
    };
    const { destroy } = plot(target, {
      width,
      height: HEIGHT,
      unit: panel.unit,
      data: [times, ...data] as uPlot.AlignedData,
      series,
      bands,
      shades: [],
      onHover,
    });
    return () => {
      tip.set(null);
      destroy();
    };
  }, [near, width, mode, shown, lines]);

  const entries = names.map((name, i) => {
    const of = (side: number) => human(lines.find((l) => l.name === name && l.side === side)?.average, panel.unit);
    return {
      name: words(name, panel.unit),
      colour: "var(--muted)",
      dashed: i % DASHES.length > 0,
      value: sides.map((side) => `${LETTERS[side]} ${of(side)}`).join(", "),
      title: meaning(panel, name) ?? name,
    };
  });
  return (
    <div>
      <div
        class="chart"
        ref={box}
        tabIndex={0}
        role="img"
        aria-label={`${panel.title}: the groups over time. Arrows move the pointer, plus and minus zoom, Escape shows all.`}
        onKeyDown={chartKeys(times)}
        style={{ minHeight: `${HEIGHT}px` }}
      />
      <Key entries={sides.map((side) => ({ name: LETTERS[side], colour: colour(side) }))} />
      <Legend entries={entries} shown={shown} onChange={setShown} first={5} />
    </div>
  );
}

/** Series of both groups on one axis of time, those of most weight first. */
function gather(time: TimeData, runs: Timed[]): { times: number[]; lines: Line[]; names: string[] } {
  const moves = runs.map((r) => Math.round(r.shift / time.step));
  const [first, last] = [Math.min(0, ...moves), Math.max(0, ...moves)];
  const n = time.n + last - first;
  const times = Array.from({ length: n }, (_, i) => time.t0 + (i + first) * time.step);
  const weight = new Map<string, number>();
  for (const s of time.series) {
    // What is zero throughout in all runs is no line to compare.
    if (s.stats.min === 0 && s.stats.max === 0 && !weight.has(s.name)) continue;
    weight.set(s.name, Math.max(weight.get(s.name) ?? -Infinity, s.stats.avg ?? -Infinity));
  }
  // What both groups have comes first.
  const sides = (name: string) => new Set(time.series.filter((s) => s.name === name).map((s) => runs[s.run]?.side)).size;
  const all = [...new Set(runs.map((r) => r.side))].sort((a, b) => a - b);
  const names = [...weight.keys()].sort((a, b) => sides(b) - sides(a) || weight.get(b)! - weight.get(a)!);
  const lines = names.flatMap((name) =>
    all.flatMap((side): Line[] => {
      const mine = time.series.filter((s) => s.name === name && runs[s.run]?.side === side);
      if (mine.length === 0) return [];
      const values = mine.map((s) => {
        const all = unpack(s.avg);
        const from = moves[s.run] - first;
        return Array.from({ length: n }, (_, i) => all[i - from] ?? null);
      });
      const averages = mine.flatMap((s) => s.stats.avg ?? []);
      const average = averages.length > 0 ? averages.reduce((a, b) => a + b, 0) / averages.length : null;
      if (values.length === 1) return [{ name, side, mean: values[0], low: values[0], high: values[0], average }];
      const over = (how: (known: number[]) => number) =>
        Array.from({ length: n }, (_, i) => {
          const known = values.flatMap((v) => v[i] ?? []);
          return known.length > 0 ? how(known) : null;
        });
      const mean = over((v) => v.reduce((a, b) => a + b, 0) / v.length);
      return [{ name, side, mean, low: over((v) => Math.min(...v)), high: over((v) => Math.max(...v)), average }];
    }),
  );
  return { times, lines, names };
}
