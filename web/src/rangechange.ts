// How much a series changed within a range of time, in words.

import type { RangeChange } from "./api.gen";
import { human, percent } from "./units";

/** `×3.2`, `−40%`; where there was nothing before, `new`. */
export function changeOf(c: Pick<RangeChange, "change" | "inside" | "rest" | "unit">): string {
  if (c.change === null || c.change === undefined) {
    if (c.rest === 0) return "new";
    const by = c.inside - c.rest;
    return `${by > 0 ? "+" : "−"}${human(Math.abs(by), c.unit)}`;
  }
  if (c.change >= 1) return `×${(c.change + 1).toFixed(c.change < 9 ? 1 : 0)}`;
  return `${c.change > 0 ? "+" : "−"}${percent(Math.abs(c.change))}`;
}
