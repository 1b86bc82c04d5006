// Moments that charts over time show as lines: marks, phases, log lines and other events of the runs shown.

import type { Panel, Run } from "./payload";
import { Shared, theme } from "./shared";
import { clock } from "./units";

/** The question that answers which moments there are. */
export const MARKS = "marks";

/** An event, or several of a kind that stand close together. */
export interface Moment {
  /** Place among the runs. */
  run: number;
  /** Seconds since the start of the run. */
  from: number;
  to: number;
  events: number;
  /** The kind of event: `mark`, `phase`, `log`, `counter reset` … */
  kind: string;
  /** 1 for marks and phases, 2 for errors, then what matters less. */
  place: number;
  /** Its text. */
  text: string;
}

/** Those of the page's runs. */
export const moments = new Shared<Moment[]>([]);

/** Closer lines than this are one, pixels. */
const APART = 7;
/** So far from the pointer a line is still under it, pixels. */
export const REACH = 6;
/** So many are listed beside the pointer. */
const LISTED = 4;
/** Places up to this one are lines through the whole chart; what matters less is a tick on top. */
const THROUGH = 2;

/** The rows of the question as moments. */
export function momentsOf(panel: Panel | undefined, runs: Run[]): Moment[] {
  const table = panel?.table;
  if (!table) return [];
  const at = (name: string) => table.columns.findIndex((c) => c.name === name);
  const [run, from, until, kind, place, events, subject, message] = [
    "run",
    "at_s",
    "until_s",
    "kind",
    "place",
    "events",
    "subject",
    "message",
  ].map(at);
  return table.rows.map((row): Moment => {
    const [label, about] = [row[kind], row[subject]].map((v) => (v === null || v === undefined ? "" : String(v)));
    const wording = [label === "log" || label === "mark" ? about : [label, about].filter(Boolean).join(" "), row[message]]
      .filter(Boolean)
      .join(": ");
    return {
      run: Math.max(
        0,
        runs.findIndex((r) => r.name === row[run]),
      ),
      from: Number(row[from]),
      to: Number(row[until]),
      events: Number(row[events]),
      kind: label,
      place: Number(row[place]),
      text: wording || label,
    };
  });
}

/** Moments that stand together at a scale, the most important of them first. */
export interface Cluster {
  /** Pixels. */
  x: number;
  of: Moment[];
}

/** Puts together what is closer than can be distinguished; `x` gives the pixel of a second. */
export function clusters(all: Moment[], x: (t: number) => number, apart = APART): Cluster[] {
  const out: Cluster[] = [];
  for (const moment of [...all].sort((a, b) => a.from - b.from)) {
    const px = x(moment.from);
    const last = out[out.length - 1];
    if (last && px - last.x < apart) last.of.push(moment);
    else out.push({ x: px, of: [moment] });
  }
  for (const cluster of out) cluster.of.sort((a, b) => a.place - b.place || a.from - b.from);
  return out;
}

/** Lines for the box beside the pointer: what happened about the second `t`. */
export function describe(all: Moment[], t: number, reach: number, runs: Run[]): string[] {
  const near = all.filter((m) => t >= m.from - reach && t <= m.to + reach);
  near.sort((a, b) => a.place - b.place || Math.abs(a.from - t) - Math.abs(b.from - t));
  const lines = near.slice(0, LISTED).map((m) => {
    const name = runs.length > 1 && runs[m.run] ? `${runs[m.run].name}, ` : "";
    const count = m.events > 1 ? ` (${m.events} until ${clock(m.to)})` : "";
    return `${name}${clock(m.from, true)} ${m.text.length > 160 ? `${m.text.slice(0, 159)}…` : m.text}${count}`;
  });
  return near.length > LISTED ? [...lines, `and ${near.length - LISTED} more`] : lines;
}

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

interface Field {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Draws moments over a chart: a line for what was marked or failed, a tick on top for what else happened. */
export function drawMoments(g: CanvasRenderingContext2D, all: Moment[], x: (t: number) => number, field: Field, ratio: number): void {
  if (all.length === 0) return;
  const colours = [css("--muted"), css("--accent"), css("--bad"), css("--muted")];
  const right = field.left + field.width;
  g.save();
  for (const { x: px, of } of clusters(all, x, APART * ratio)) {
    if (px < field.left - 1 || px > right + 1) continue;
    const { place } = of[0];
    g.strokeStyle = g.fillStyle = colours[place] ?? colours[0];
    if (place <= THROUGH) {
      g.globalAlpha = theme.value === "dark" ? 0.9 : 0.75;
      g.setLineDash([4 * ratio, 3 * ratio]);
      g.lineWidth = ratio;
      g.beginPath();
      g.moveTo(Math.round(px) + 0.5, field.top);
      g.lineTo(Math.round(px) + 0.5, field.top + field.height);
      g.stroke();
    }
    g.globalAlpha = 1;
    const size = (place <= THROUGH ? 5 : 3.5) * ratio;
    g.beginPath();
    g.moveTo(px - size, field.top);
    g.lineTo(px + size, field.top);
    g.lineTo(px, field.top + size * 1.3);
    g.fill();
  }
  g.restore();
}
