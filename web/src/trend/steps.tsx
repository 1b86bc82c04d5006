// Points over runs, with the level of each segment between two changes as a step.

import type { Trend } from "../api.gen";
import { Axes, Frame, inside } from "../charts/axes";
import { Mark } from "../charts/mark";
import { extent, fromZero, linear } from "../charts/scale";
import { colour, theme, useShared } from "../shared";
import { date, human, moment, plural } from "../units";

interface Props {
  found: Trend;
  byTime: boolean;
  picked: string[];
  onPick: (run: string) => void;
}

/** The segments between changes with their means. */
function levels(found: Trend): { from: number; to: number; mean: number }[] {
  const ends = [0, ...found.changes.map((c) => c.at), found.points.length];
  return ends.slice(1).map((to, i) => {
    const part = found.points.slice(ends[i], to);
    return { from: ends[i], to: to - 1, mean: part.reduce((sum, p) => sum + p.value, 0) / Math.max(1, part.length) };
  });
}

export function Steps({ found, byTime, picked, onPick }: Props) {
  useShared(theme);
  const { points, unit } = found;
  const at = (i: number) => (byTime ? points[i].start_ms : i + 1);
  const draw = (width: number, height: number) => {
    const box = inside(width, height);
    const span = extent(points.map((_, i) => at(i)));
    const air = (span[1] - span[0] || 1) * 0.03;
    const xs = linear([span[0] - air, span[1] + air], [box.left, box.right]);
    if (!byTime) xs.ticks = xs.ticks.filter((t) => Number.isInteger(t) && t >= 1 && t <= points.length);
    const values = extent(points.map((p) => p.value));
    // A metric that hardly moves would be a line at the top of an axis from 0.
    const near = values[0] > 0 && values[0] > values[1] * 0.7;
    const room = (values[1] - values[0] || Math.abs(values[1]) || 1) * 0.12;
    const ys = linear(near ? [values[0] - room, values[1] + room] : fromZero(values), [box.bottom, box.top], unit);
    const steps = found.changes.length > 0 ? levels(found) : [];
    const picture = (
      <>
        <Axes
          box={box}
          x={xs}
          y={ys}
          yUnit={unit}
          yName={near ? `${found.metric} (axis does not start at 0)` : found.metric}
          xName={byTime ? "start" : "run, the oldest first"}
          xText={byTime ? (t) => date(t).slice(5, 16) : String}
        />
        <g class="marks">
          <path
            d={points.map((p, i) => `${i ? "L" : "M"}${xs.at(at(i))} ${ys.at(p.value)}`).join("")}
            fill="none"
            stroke={colour(0)}
            stroke-width="1"
            opacity="0.45"
          />
          {steps.map((s) => (
            <line
              key={s.from}
              x1={xs.at(at(s.from))}
              x2={Math.max(xs.at(at(s.to)), xs.at(at(s.from)) + 4)}
              y1={ys.at(s.mean)}
              y2={ys.at(s.mean)}
              stroke={colour(1)}
              stroke-width="3"
            />
          ))}
          {found.changes.map((c) => {
            const x = (xs.at(at(c.at - 1)) + xs.at(at(c.at))) / 2;
            const share = 100 * ((c.after - c.before) / Math.abs(c.before));
            return (
              <g key={c.at}>
                <line class="zero" stroke-dasharray="4 3" x1={x} x2={x} y1={box.top} y2={box.bottom} />
                <text class="strong" x={x + 5} y={box.top + 10}>{`${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(1)}%`}</text>
              </g>
            );
          })}
          {points.map((p, i) => (
            <Mark key={p.run} shape={0} x={xs.at(at(i))} y={ys.at(p.value)} fill={colour(0)} size={points.length > 200 ? 2 : 3.5} />
          ))}
          {points.map(
            (p, i) =>
              picked.includes(p.run) && (
                <circle key={`p${p.run}`} cx={xs.at(at(i))} cy={ys.at(p.value)} r="8" fill="none" stroke={colour(1)} stroke-width="2" />
              ),
          )}
        </g>
      </>
    );
    const items = points.map((p, i) => ({
      x: xs.at(at(i)),
      y: ys.at(p.value),
      head: p.name,
      lines: [
        { name: found.metric, value: human(p.value, unit), near: true },
        { name: `run ${i + 1}`, value: moment(p.start_ms) },
      ],
      act: () => onPick(p.run),
    }));
    return { picture, items };
  };
  return <Frame label={`${found.metric} over ${plural(points.length, "run")}`} height={() => 300} draw={draw} near="x" />;
}
