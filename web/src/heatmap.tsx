// A heat map: one row a series, one column a bin of time, colour for the value.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Panel, type Run, type TimeData, unpack } from "./payload";
import { chartKeys } from "./plot";
import { cursor, extent, heat, theme, useNear, useShared, useWidth, zoom } from "./shared";
import { head, meaning, timesOf } from "./timechart";
import { tip } from "./tooltip";
import { clock, human, words } from "./units";

const LEFT = 76;
const RIGHT = 24;
const BELOW = 22;
/** From so many rows on, those with nothing but zeros are folded away. */
const FOLD = 8;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 86400];

export function HeatMap({ panel, time, runs, only }: { panel: Panel; time: TimeData; runs: Run[]; only: number }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const select = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const width = useWidth(box);
  const mode = useShared(theme);
  const stretch = useShared(zoom);
  const whole = useShared(extent);
  const [zeros, setZeros] = useState(false);
  const [rows, folded] = useMemo(() => {
    const all = time.series.filter((s) => s.run === only);
    const loud = all.filter((s) => s.stats.max !== 0);
    return all.length > FOLD && loud.length > 0 ? [zeros ? all : loud, all.length - loud.length] : [all, 0];
  }, [time, only, zeros]);
  const times = useMemo(() => timesOf(time), [time]);
  const rowHeight = Math.max(4, Math.min(18, Math.floor(320 / Math.max(1, rows.length))));
  const height = rows.length * rowHeight;
  const top = time.max > 0 ? (panel.unit === "%" && time.max > 50 && time.max <= 100.5 ? 100 : time.max) : 1;
  const inner = Math.max(10, width - LEFT - RIGHT);
  // A bin is drawn from its begin to its end; its time is its end.
  const first = times[0] - time.step;
  const [from, to] = stretch ?? whole ?? [first, times[times.length - 1]];
  const x = (t: number) => LEFT + ((t - from) / (to - from)) * inner;
  const timeAt = (px: number) => from + ((px - LEFT) / inner) * (to - from);

  useEffect(() => {
    const c = canvas.current;
    if (!near || !c || width < 60) return;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = (height + BELOW) * ratio;
    const g = c.getContext("2d")!;
    g.scale(ratio, ratio);
    const css = getComputedStyle(document.documentElement);
    // Missing stays the colour of the page, hatched by nothing: a gap is a gap.
    g.clearRect(0, 0, width, height + BELOW);
    rows.forEach((s, r) => {
      const values = unpack(s.avg);
      for (let i = 0; i < values.length; i++) {
        const v = values[i];
        if (v === null || times[i] < from || times[i] - time.step > to) continue;
        const [left, right] = [Math.max(LEFT, x(times[i] - time.step)), Math.min(LEFT + inner, x(times[i]))];
        const [cr, cg, cb] = heat(v / top);
        g.fillStyle = `rgb(${cr},${cg},${cb})`;
        g.fillRect(left, r * rowHeight, right - left + 0.6, rowHeight - (rowHeight > 8 ? 1 : 0));
      }
    });
    g.fillStyle = css.getPropertyValue("--muted");
    g.font = '12px system-ui, -apple-system, "Segoe UI", sans-serif';
    g.textBaseline = "middle";
    g.textAlign = "right";
    const every = Math.ceil(14 / rowHeight);
    const tidy = every === 1 ? 1 : [2, 4, 8, 16, 32, 64, 128].find((n) => n >= every) ?? every;
    rows.forEach((s, r) => {
      if (r % tidy === 0) g.fillText(clip(words(s.name)), LEFT - 6, Math.max(7, r * rowHeight + rowHeight / 2 + 1));
    });
    g.textAlign = "center";
    const step = STEPS.find((s) => ((to - from) / s) * 70 <= inner) ?? 86400;
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) g.fillText(clock(t), Math.min(x(t), width - 20), height + 13);
  }, [near, width, mode, from, to, rows]);

  useEffect(() => cursor.on((t) => {
    if (!line.current) return;
    const at = t === null ? -1 : x(t);
    line.current.style.display = at >= LEFT && at <= LEFT + inner ? "block" : "none";
    line.current.style.left = `${at}px`;
  }), [from, to, inner]);

  const drag = useRef<number | null>(null);
  const place = (e: MouseEvent) => e.clientX - box.current!.getBoundingClientRect().left;
  const move = (e: MouseEvent) => {
    const px = Math.min(LEFT + inner, Math.max(LEFT, place(e)));
    const t = timeAt(px);
    cursor.set(t);
    if (drag.current !== null && select.current) {
      Object.assign(select.current.style, { display: "block", left: `${Math.min(px, drag.current)}px`, width: `${Math.abs(px - drag.current)}px` });
    }
    const row = rows[Math.floor((e.clientY - box.current!.getBoundingClientRect().top) / rowHeight)];
    const i = Math.min(time.n - 1, Math.max(0, Math.ceil((t - first) / time.step) - 1));
    if (!row) return tip.set(null);
    tip.set({
      x: e.clientX,
      y: e.clientY,
      head: head(times[i], time.step, runs, only),
      lines: [{ name: `${panel.series ?? ""} ${words(row.name)}`.trim(), value: human(unpack(row.avg)[i], panel.unit) }],
      meaning: panel.values ? meaning(panel, panel.values) : undefined,
    });
  };
  const finish = (e: MouseEvent) => {
    const begin = drag.current;
    drag.current = null;
    if (select.current) select.current.style.display = "none";
    const end = Math.min(LEFT + inner, Math.max(LEFT, place(e)));
    if (begin !== null && Math.abs(end - begin) > 3) zoom.set([timeAt(Math.min(begin, end)), timeAt(Math.max(begin, end))]);
  };
  const leave = () => {
    drag.current = null;
    if (select.current) select.current.style.display = "none";
    cursor.set(null);
    tip.set(null);
  };
  return (
    <div>
      <div
        class="chart heat"
        ref={box}
        tabIndex={0}
        role="img"
        aria-label={`${panel.title}: ${rows.length} rows over time, from 0 to ${human(top, panel.unit)}`}
        style={{ height: `${height + BELOW}px` }}
        onKeyDown={chartKeys(times)}
        onMouseMove={move}
        onMouseLeave={leave}
        onMouseDown={(e) => { drag.current = Math.max(LEFT, place(e)); e.preventDefault(); }}
        onMouseUp={finish}
        onDblClick={() => zoom.set(null)}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${height + BELOW}px` }} />
        <div class="heat-line" ref={line} style={{ height: `${height}px` }} />
        <div class="heat-select" ref={select} style={{ height: `${height}px` }} />
      </div>
      <div class="heat-scale">
        <span>0</span>
        <span class="heat-bar" style={{ background: `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, i) => `rgb(${heat(i / 8).join(",")})`).join(",")})` }} />
        <span>{human(top, panel.unit)}</span>
        {folded > 0 && <button type="button" class="legend-zeros" aria-expanded={zeros} onClick={() => setZeros(!zeros)}>{zeros ? "fold zeros away" : `${folded} rows are always zero`}</button>}
      </div>
    </div>
  );
}

function clip(name: string): string {
  return name.length > 10 ? `${name.slice(0, 9)}…` : name;
}
