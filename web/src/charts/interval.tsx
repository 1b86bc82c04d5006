// A row for each value with its interval: a forest plot. With a zero line and the margin within which a change is
// of no interest it shows what changed, and how surely.

import { colour, theme, useShared } from "../shared";
import { human, plural } from "../units";
import { Frame, inside } from "./axes";
import { Mark } from "./mark";
import { extent, linear, tickTexts } from "./scale";

export interface Estimate {
  name: string;
  value: number | null;
  interval?: [number, number] | null;
  /** Index of its colour; its shape differs as well. */
  kind?: number;
  /** What it means, in the box beside the pointer. */
  note?: string;
  act?: () => void;
}

interface Props {
  label: string;
  rows: Estimate[];
  unit: string;
  /** Changes: a line at 0, signs, and a band of this half width. */
  margin?: number;
  changes?: boolean;
}

const ROW = 22;

export function Intervals({ label, rows, unit, margin, changes }: Props) {
  useShared(theme);
  const signed = (v: number, text: string) => (changes && v > 0 ? `+${text}` : text);
  const text = (v: number) => signed(v, human(v, unit));
  const draw = (width: number, high: number) => {
    const longest = Math.max(8, ...rows.map((r) => r.name.length));
    const left = Math.min(width * 0.42, 14 + longest * 7.2);
    const box = inside(width, high, 26, left);
    const top = 4;
    const bottom = top + rows.length * ROW;
    const span = extent(rows.flatMap((r) => [r.value, ...(r.interval ?? [])]));
    const most = Math.max(Math.abs(span[0]), Math.abs(span[1]), (margin ?? 0) * 1.3) * 1.06;
    const xs = linear(
      changes
        ? [Math.min(0, span[0]) < 0 ? -most : -most * 0.15, Math.max(0, span[1]) > 0 ? most : most * 0.15]
        : [Math.min(0, span[0]), span[1] * 1.05],
      [box.left, box.right - 10],
      unit,
    );
    const labels = tickTexts(xs.ticks, unit);
    const letters = Math.floor((left - 12) / 7);
    const middle = (i: number) => top + i * ROW + ROW / 2;
    const picture = (
      <>
        <g class="axes">
          {xs.ticks.map((t) => (
            <line key={t} class="grid" x1={xs.at(t)} x2={xs.at(t)} y1={top} y2={bottom} />
          ))}
          {xs.ticks.map((t, i) => (
            <text key={`t${t}`} x={xs.at(t)} y={bottom + 16} text-anchor="middle">
              {signed(t, labels[i])}
            </text>
          ))}
        </g>
        <g class="marks">
          {margin !== undefined && (
            <rect class="margin" x={xs.at(-margin)} width={xs.at(margin) - xs.at(-margin)} y={top} height={bottom - top} />
          )}
          {changes && <line class="zero" x1={xs.at(0)} x2={xs.at(0)} y1={top} y2={bottom} />}
          {rows.map((r, i) => (
            <g key={i}>
              <text class="plain" x={left - 8} y={middle(i) + 4} text-anchor="end">
                {r.name.length > letters ? `${r.name.slice(0, letters - 1)}…` : r.name}
              </text>
              {r.interval && (
                <line
                  x1={xs.at(r.interval[0])}
                  x2={xs.at(r.interval[1])}
                  y1={middle(i)}
                  y2={middle(i)}
                  stroke={colour(r.kind ?? 0)}
                  stroke-width="3"
                  stroke-linecap="round"
                  opacity="0.55"
                />
              )}
              {r.value !== null && <Mark shape={r.kind ?? 0} x={xs.at(r.value)} y={middle(i)} fill={colour(r.kind ?? 0)} size={4} />}
            </g>
          ))}
        </g>
      </>
    );
    const items = rows.map((r, i) => ({
      x: r.value === null ? box.left : xs.at(r.value),
      y: middle(i),
      head: r.name,
      lines: [
        { name: changes ? "change" : "value", value: r.value === null ? "–" : text(r.value), near: true },
        ...(r.interval ? [{ name: "95% interval", value: `${text(r.interval[0])} … ${text(r.interval[1])}` }] : []),
      ],
      meaning: r.note,
      act: r.act,
    }));
    return { picture, items };
  };
  if (rows.length === 0) return <p class="quiet">There is nothing to show.</p>;
  return <Frame label={`${label}: ${plural(rows.length, "row")}`} height={() => rows.length * ROW + 30} draw={draw} near="y" />;
}
