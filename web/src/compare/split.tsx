// Where the time went: the time of both groups, each as a bar of its parts, and by how much every part changed.

import { useRef } from "preact/hooks";
import { TakeAway } from "../charts/takeaway";
import { Frame, Key } from "../charts/axes";
import { linear } from "../charts/scale";
import { colour, theme, useShared } from "../shared";
import { human } from "../units";
import type { Split } from "./types";

const BAR = 30;
const LEFT = 34;
const GREY = "var(--residual)";

export function WhereTheTimeWent({ split }: { split: Split }) {
  useShared(theme);
  const chart = useRef<HTMLDivElement>(null);
  const last = split.parts.length - 1;
  const paint = (i: number) => (i === last ? GREY : colour(i + 2));
  const title = `Where the ${split.what === "latency" ? "time of a transaction" : "elapsed time"} went`;
  const draw = (width: number) => {
    const positive = (side: 0 | 1) => split.parts.reduce((sum, p) => sum + Math.max(0, p.means[side]), 0);
    const most = Math.max(positive(0), positive(1), ...split.means);
    const xs = linear([0, most], [LEFT, width - 90], split.unit);
    const items: { x: number; y: number; head: string; lines: { name: string; value: string }[] }[] = [];
    const bars = ([0, 1] as const).map((side) => {
      let from = 0;
      const y = side * (BAR + 12) + 4;
      return (
        <g key={side}>
          <text class="strong" x={LEFT - 12} y={y + BAR / 2 + 4} text-anchor="end">
            {"AB"[side]}
          </text>
          {split.parts.map((p, i) => {
            const value = Math.max(0, p.means[side]);
            const [x, w] = [xs.at(from), xs.at(from + value) - xs.at(from)];
            from += value;
            items.push({
              x: x + w / 2,
              y: y + BAR / 2,
              head: `${"AB"[side]} · ${p.name}`,
              lines: [{ name: split.what, value: `${human(p.means[side], split.unit)} of ${human(split.means[side], split.unit)}` }],
            });
            return w > 0 ? <rect key={p.name} x={x} y={y} width={Math.max(0.5, w - 1)} height={BAR} fill={paint(i)} /> : null;
          })}
          <text class="strong" x={xs.at(from) + 8} y={y + BAR / 2 + 4}>
            {human(split.means[side], split.unit)}
          </text>
        </g>
      );
    });
    return { picture: <g class="marks">{bars}</g>, items };
  };
  const negative = split.parts[last]?.means.some((m) => m < 0);
  return (
    <section id="section-split">
      <h2>Where the time went</h2>
      <article class="panel wide">
        <div class="panel-head">
          <h3>{title}</h3>
          <TakeAway
            title={title}
            chart={chart}
            rows={() => ({ head: ["part", "A", "B"], rows: split.parts.map((p) => [p.name, ...p.means]) })}
          />
        </div>
        <div ref={chart}>
          <Frame label={title} height={() => 2 * (BAR + 12) + 6} draw={draw} near="xy" />
          <Key entries={split.parts.map((p, i) => ({ name: p.name, colour: paint(i) }))} />
        </div>
        <Parts split={split} />
        {negative && <p class="quiet">A negative residual is time spent by parallel threads or other work.</p>}
      </article>
    </section>
  );
}

function Parts({ split }: { split: Split }) {
  const change = (a: number, b: number) => `${b > a ? "+" : b < a ? "−" : ""}${human(Math.abs(b - a), split.unit)}`;
  const whole = split.means[1] - split.means[0];
  const rows = [...split.parts, { name: split.what, means: split.means }];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="parts of the time">
      <table>
        <thead>
          <tr>
            <th>part</th>
            <th class="num">A</th>
            <th class="num">B</th>
            <th class="num">change</th>
            <th class="num">share of the change</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((p, i) => (
            <tr key={p.name} class={i === rows.length - 1 ? "strong" : undefined}>
              <td>{p.name}</td>
              <td class="num">{human(p.means[0], split.unit)}</td>
              <td class="num">{human(p.means[1], split.unit)}</td>
              <td class="num">{change(...p.means)}</td>
              <td class="num">{whole === 0 ? "–" : `${((100 * (p.means[1] - p.means[0])) / whole).toFixed(0)}%`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
