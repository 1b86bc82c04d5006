// A response against a factor, numeric or by name: a point and its interval for each level, a line for each
// combination of the other factors.

import { colour, theme, useShared } from "../shared";
import { human } from "../units";
import { Axes, Frame, inside, Key } from "./axes";
import { Mark } from "./mark";
import { apart, extent, fromZero, linear, places } from "./scale";
import { Path, Whisker } from "./scatter";

export interface Level {
  /** Index into `levels`. */
  level: number;
  value: number;
  interval?: [number, number] | null;
  /** Runs behind it. */
  n?: number;
  act?: () => void;
}

interface Props {
  label: string;
  factor: string;
  /** Names of the levels; all numbers make a numeric axis. */
  levels: string[];
  response: string;
  unit: string;
  lines: { name: string; points: Level[] }[];
  /** Values of no line through points, such as the ideal. */
  ideal?: (level: number) => number;
  height?: number;
}

export function Response({ label, factor, levels, response, unit, lines, ideal, height = 270 }: Props) {
  useShared(theme);
  const numbers = levels.map(Number);
  const numeric = levels.length > 1 && levels.every((l, i) => l.trim() !== "" && Number.isFinite(numbers[i]));
  const place = (level: number) => (numeric ? numbers[level] : level);
  const draw = (width: number, high: number) => {
    const box = inside(width, high);
    const all = lines.flatMap((l) => l.points);
    const values = all.flatMap((p) => [p.value, ...(p.interval ?? [])]);
    if (ideal && numeric) values.push(...numbers.map(ideal));
    const air = numeric ? (extent(numbers)[1] - extent(numbers)[0]) * 0.05 : 0;
    const xs = numeric
      ? linear([extent(numbers)[0] - air, extent(numbers)[1] + air], [box.left, box.right])
      : places(levels.length, [box.left, box.right]);
    if (numeric) xs.ticks = apart(numbers, xs);
    const ys = linear(fromZero(extent(values)), [box.bottom, box.top], unit);
    // Several points on one name stand side by side; a number has one place.
    const shift = (line: number) => (lines.length > 1 && !numeric ? (line - (lines.length - 1) / 2) * Math.min(9, 60 / lines.length) : 0);
    const at = (p: Level, line: number) => xs.at(place(p.level)) + shift(line);
    const picture = (
      <>
        <Axes
          box={box}
          x={xs}
          y={ys}
          yUnit={unit}
          xName={factor}
          yName={response}
          xText={numeric ? undefined : (t) => clip(levels[t] ?? "", (box.right - box.left) / levels.length)}
        />
        <g class="marks">
          {ideal && numeric && (
            <Path
              points={numbers.map((n) => [n, ideal(n)] as [number, number]).sort((a, b) => a[0] - b[0])}
              xs={xs}
              ys={ys}
              stroke="currentColor"
              dashed
            />
          )}
          {lines.map((line, i) => (
            <g key={line.name}>
              <path
                d={[...line.points]
                  .sort((a, b) => place(a.level) - place(b.level))
                  .map((p, k) => `${k ? "L" : "M"}${at(p, i)} ${ys.at(p.value)}`)
                  .join("")}
                fill="none"
                stroke={colour(i)}
                stroke-width={numeric ? 1.6 : 0.8}
                stroke-dasharray={numeric ? undefined : "3 3"}
                opacity={numeric || lines.length < 4 ? 1 : 0.4}
              />
              {line.points.map((p) => (
                <g key={p.level}>
                  {p.interval && <Whisker x={at(p, i)} from={ys.at(p.interval[0])} to={ys.at(p.interval[1])} stroke={colour(i)} />}
                  <Mark shape={i} x={at(p, i)} y={ys.at(p.value)} fill={colour(i)} />
                </g>
              ))}
            </g>
          ))}
        </g>
      </>
    );
    const items = lines.flatMap((line, i) =>
      line.points.map((p) => ({
        x: at(p, i),
        y: ys.at(p.value),
        head: `${factor} ${levels[p.level]}${line.name ? ` · ${line.name}` : ""}`,
        lines: [
          { colour: colour(i), name: response, value: human(p.value, unit), near: true },
          ...(p.interval ? [{ name: "95% interval", value: `${human(p.interval[0], unit)} … ${human(p.interval[1], unit)}` }] : []),
          ...(p.n === undefined ? [] : [{ name: "runs", value: String(p.n) }]),
        ],
        act: p.act,
      })),
    );
    return { picture, items: items.sort((a, b) => a.x - b.x) };
  };
  return (
    <div>
      <Frame label={`${label}: ${response} against ${factor}`} height={() => height} draw={draw} />
      <Key
        entries={[
          ...lines.map((l, i) => ({ name: l.name, colour: colour(i) })),
          ...(ideal && lines.length > 0 ? [{ name: "in proportion", colour: "var(--text)", dashed: true }] : []),
        ]}
      />
    </div>
  );
}

function clip(name: string, pixels: number): string {
  const letters = Math.max(3, Math.floor(pixels / 7.5));
  return name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
}
