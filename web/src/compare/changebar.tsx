// A change with its interval as a small bar: zero in the middle, the margin as a band, one scale for all lines.

import { useRef } from "preact/hooks";
import { tip } from "../tooltip";
import { human } from "../units";
import { changeText, type Line, percent } from "./types";

const WIDTH = 170;
const HEIGHT = 18;
/** Greater changes are drawn at the edge, with an arrow. */
const MOST = 1;

/** The largest change that the bars show: nine of ten changes lie within. */
export function scaleOf(lines: Line[], margin: number): number {
  const sizes = lines
    .filter((l) => l.relative && l.means[0] !== 0)
    .map((l) => Math.max(Math.abs(l.change), ...(l.interval ?? []).map(Math.abs)))
    .sort((a, b) => a - b);
  const most = sizes[Math.floor(sizes.length * 0.9)] ?? 0;
  const nice = [0.05, 0.1, 0.2, 0.5, 1].find((n) => n >= most) ?? MOST;
  return Math.max(nice, margin * 3);
}

export function ChangeBar({ line, most, margin }: { line: Line; most: number; margin: number }) {
  const box = useRef<HTMLDivElement>(null);
  const at = (v: number) => WIDTH / 2 + (Math.max(-most, Math.min(most, v)) / most) * (WIDTH / 2 - 8);
  // A difference without a share has no place on this scale.
  if (!line.relative)
    return (
      <div class="quiet" title="Not defined: a run of A is 0, or the signs of the groups differ">
        {line.change === 0 ? "" : "no relative change"}
      </div>
    );
  const tone = line.verdict.split(" ")[0];
  const ends = line.interval;
  const beyond = Math.abs(line.change) > most;
  const describe = (e: MouseEvent) =>
    tip.set({
      x: e.clientX,
      y: e.clientY,
      head: line.column,
      lines: [
        { name: "change", value: changeText(line, line.change, human), near: true },
        {
          name: "95% interval",
          value: ends ? ends.map((v) => changeText(line, v, human)).join(" … ") : "needs at least two runs in each group",
        },
      ],
      meaning: line.doc,
    });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a tooltip, and nothing to do
    <div ref={box} onMouseMove={describe} onMouseLeave={() => tip.set(null)}>
      <svg class={`change ${tone}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
        <rect class="margin" x={at(-margin)} width={at(margin) - at(-margin)} y={0} height={HEIGHT} />
        <line class="zero" x1={at(0)} x2={at(0)} y1={0} y2={HEIGHT} />
        {ends && <line class="span" x1={at(ends[0])} x2={Math.max(at(ends[1]), at(ends[0]) + 1)} y1={HEIGHT / 2} y2={HEIGHT / 2} />}
        {beyond ? (
          <path class="dot" d={line.change > 0 ? `M${WIDTH - 2} 9l-8 -5v10z` : "M2 9l8 -5v10z"} />
        ) : (
          <circle class="dot" cx={at(line.change)} cy={HEIGHT / 2} r="4" />
        )}
      </svg>
    </div>
  );
}

ChangeBar.Head = function Head({ most }: { most: number }) {
  return (
    <span class="bar-scale">
      <span>{`−${percent(most)}`}</span>
      <span>0</span>
      <span>{`+${percent(most)}`}</span>
    </span>
  );
};
