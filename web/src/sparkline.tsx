// A sparkline: the shape of a series at a glance.

import type { Numbers } from "./payload";
import { human } from "./units";

interface Props {
  values: Numbers;
  max?: Numbers;
  unit: string;
  colour?: string;
  width?: number;
  height?: number;
}

const POINTS = 120;

/** Groups of neighbours, so that the path stays short: mean of `values`, maximum of `max`. */
function thin(values: Numbers, how: "mean" | "max"): Numbers {
  const size = Math.max(1, Math.ceil(values.length / POINTS));
  const out: Numbers = [];
  for (let i = 0; i < values.length; i += size) {
    const part = values.slice(i, i + size).filter((v): v is number => v !== null);
    if (part.length === 0) out.push(null);
    else out.push(how === "max" ? Math.max(...part) : part.reduce((a, b) => a + b, 0) / part.length);
  }
  return out;
}

export function Sparkline({ values, max, unit, colour, width = 160, height = 30 }: Props) {
  const line = thin(values, "mean");
  const tops = max ? thin(max, "max") : null;
  const known = [...line, ...(tops ?? [])].filter((v): v is number => v !== null);
  if (known.length === 0) return <span class="quiet">no data</span>;
  const [low, high] = [Math.min(0, ...known), Math.max(...known)];
  const x = (i: number) => ((i / Math.max(1, line.length - 1)) * (width - 2) + 1).toFixed(1);
  const y = (v: number) => (high === low ? height - 2 : height - 2 - ((v - low) / (high - low)) * (height - 4)).toFixed(1);
  const path = (list: Numbers) => {
    let pen = false;
    return list
      .map((v, i) => {
        if (v === null) {
          pen = false;
          return "";
        }
        const step = `${pen ? "L" : "M"}${x(i)} ${y(v)}`;
        // A value between two gaps is a dot.
        const alone = !pen && (list[i + 1] ?? null) === null;
        pen = true;
        return alone ? `${step}h.01` : step;
      })
      .join("");
  };
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={`from ${human(low, unit)} to ${human(high, unit)}`}
    >
      {tops && <path d={path(tops)} fill="none" stroke={colour ?? "currentColor"} opacity="0.35" stroke-width="1" />}
      <path d={path(line)} fill="none" stroke={colour ?? "currentColor"} stroke-width="1.5" stroke-linecap="round" />
    </svg>
  );
}
