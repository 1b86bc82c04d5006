// Points in a plane, with curves through them where a law was fitted.

import { colour, theme, useShared } from "../shared";
import { human, plural } from "../units";
import { Axes, Frame, inside, Key } from "./axes";
import { apart, extent, fromZero, linear, logarithmic, type Scale } from "./scale";
import { Mark } from "./mark";

export interface Dot {
  x: number;
  y: number;
  /** Index into `series`. */
  series: number;
  /** What it stands for: head of the box beside the pointer. */
  name: string;
  /** Ends of the interval of y. */
  interval?: [number, number] | null;
  /** Drawn with a ring. */
  marked?: boolean;
  act?: () => void;
}

export interface CurveLine {
  series: number;
  points: [number, number][];
  dashed?: boolean;
}

export interface Axis {
  name: string;
  unit: string;
  log?: boolean;
  /** The axis need not begin at 0. */
  free?: boolean;
  /** Its values are levels of a factor: these are the ticks. */
  levels?: boolean;
}

interface Props {
  label: string;
  dots: Dot[];
  x: Axis;
  y: Axis;
  series: string[];
  curves?: CurveLine[];
  /** Vertical marks, as the knee of a curve. */
  marks?: { x: number; name: string; series?: number }[];
  /** Lines between the dots of a series. */
  joined?: boolean;
  height?: number;
}

export function axisScale(values: number[], axis: Axis, pixels: [number, number]): Scale {
  if (axis.log) return logarithmic(around(extent(values.filter((v) => v > 0))), pixels);
  const span = extent(values);
  if (!axis.free) return linear(fromZero(span), pixels, axis.unit);
  const air = (span[1] - span[0] || Math.abs(span[0]) || 1) * 0.06;
  return linear([span[0] - air, span[1] + air], pixels, axis.unit);
}

const around = ([lo, hi]: [number, number]): [number, number] => [lo / 1.15, hi * 1.15];

export function Scatter({ label, dots, x, y, series, curves = [], marks = [], joined, height = 280 }: Props) {
  useShared(theme);
  const draw = (width: number, high: number) => {
    const box = inside(width, high);
    const xs = axisScale([...dots.map((d) => d.x), ...curves.flatMap((c) => c.points.map((p) => p[0])), ...marks.map((m) => m.x)], x, [
      box.left,
      box.right,
    ]);
    const ends = dots.flatMap((d) => d.interval ?? []);
    const ys = axisScale([...dots.map((d) => d.y), ...ends, ...curves.flatMap((c) => c.points.map((p) => p[1]))], y, [box.bottom, box.top]);
    if (x.levels)
      xs.ticks = apart(
        dots.map((d) => d.x),
        xs,
      );
    const picture = (
      <>
        <Axes box={box} x={xs} y={ys} xUnit={x.unit} yUnit={y.unit} xName={x.name} yName={y.name} />
        <g class="marks">
          {marks.map((m) => (
            <g key={`${m.name} ${m.series}`}>
              <line
                class="zero"
                stroke-dasharray="3 3"
                x1={xs.at(m.x)}
                x2={xs.at(m.x)}
                y1={box.top}
                y2={box.bottom}
                style={m.series === undefined ? {} : { stroke: colour(m.series) }}
              />
              <text x={xs.at(m.x) + 4} y={box.top + 10}>
                {m.name}
              </text>
            </g>
          ))}
          {curves.map((c, i) => (
            <Path key={i} points={c.points} xs={xs} ys={ys} stroke={colour(c.series)} dashed={c.dashed} />
          ))}
          {joined && series.map((_, s) => <Path key={s} points={inOrder(dots, s)} xs={xs} ys={ys} stroke={colour(s)} />)}
          {dots.map((d, i) => (
            <g key={i}>
              {d.interval && <Whisker x={xs.at(d.x)} from={ys.at(d.interval[0])} to={ys.at(d.interval[1])} stroke={colour(d.series)} />}
              <Mark shape={d.series} x={xs.at(d.x)} y={ys.at(d.y)} fill={colour(d.series)} />
              {d.marked && <circle cx={xs.at(d.x)} cy={ys.at(d.y)} r="8" fill="none" stroke={colour(d.series)} stroke-width="1.5" />}
            </g>
          ))}
        </g>
      </>
    );
    const items = dots.map((d) => ({
      x: xs.at(d.x),
      y: ys.at(d.y),
      head: d.name,
      lines: [
        { name: x.name, value: human(d.x, x.unit) },
        {
          colour: colour(d.series),
          name: y.name,
          value: `${human(d.y, y.unit)}${d.interval ? ` (${human(d.interval[0], y.unit)} … ${human(d.interval[1], y.unit)})` : ""}`,
        },
      ],
      act: d.act,
    }));
    return { picture, items: items.sort((a, b) => a.x - b.x) };
  };
  return (
    <div>
      <Frame label={`${label}: ${plural(dots.length, "point")}, ${y.name} against ${x.name}`} height={() => height} draw={draw} />
      <Key entries={series.map((name, i) => ({ name, colour: colour(i) }))} />
    </div>
  );
}

function inOrder(dots: Dot[], series: number): [number, number][] {
  return dots
    .filter((d) => d.series === series)
    .sort((a, b) => a.x - b.x)
    .map((d) => [d.x, d.y]);
}

export function Path({
  points,
  xs,
  ys,
  stroke,
  dashed,
}: {
  points: [number, number][];
  xs: Scale;
  ys: Scale;
  stroke: string;
  dashed?: boolean;
}) {
  const d = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${xs.at(x).toFixed(1)} ${ys.at(y).toFixed(1)}`).join("");
  return <path d={d} fill="none" stroke={stroke} stroke-width="1.6" stroke-dasharray={dashed ? "6 4" : undefined} />;
}

/** An interval, standing. */
export function Whisker({ x, from, to, stroke }: { x: number; from: number; to: number; stroke: string }) {
  return (
    <g stroke={stroke} stroke-width="1.3">
      <line x1={x} x2={x} y1={from} y2={to} />
      <line x1={x - 4} x2={x + 4} y1={from} y2={from} />
      <line x1={x - 4} x2={x + 4} y1={to} y2={to} />
    </g>
  );
}
