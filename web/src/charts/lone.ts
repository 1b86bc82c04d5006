// Values that no line shows, since there is none beside them: they are drawn as points.

import type uPlot from "uplot";
import type { Numbers } from "../payload";

/** Where values stand alone, so that no line shows them; all of them where there are fewer than `few`. */
export function lone(values: Numbers, few: number): number[] {
  const there = [...values.keys()].filter((i) => values[i] !== null);
  const isMissing = (i: number) => (values[i] ?? null) === null;
  return there.length < few ? there : there.filter((i) => isMissing(i - 1) && isMissing(i + 1));
}

/** Draws as points what no line shows. */
export function lonePoints(values: Numbers, fill: string, few = 3): uPlot.Series.Points {
  const places = lone(values, few);
  return { show: places.length > 0, filter: places, fill };
}
