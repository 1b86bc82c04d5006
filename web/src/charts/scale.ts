// From values to pixels and back, with ticks that read well: linear, logarithmic, and places for names.

import { human } from "../units";

export interface Scale {
  domain: [number, number];
  /** Pixel of a value; NaN where the scale has none (0 on a logarithmic one). */
  at: (value: number) => number;
  /** Value of a pixel. */
  value: (pixel: number) => number;
  ticks: number[];
}

type Span = [number, number];

/** Pixels between two ticks at least. */
const SPACE = { wide: 76, high: 34 };

const isBytes = (unit: string) => unit.startsWith("B");

/** Steps of bytes: even numbers of B, KiB, MiB and so on. */
const BYTE_STEPS = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1024 ** power));

/** The least step that reads well (1, 2, 5 · 10ⁿ, for bytes of a KiB, MiB …) and is not below `least`. */
function niceStep(least: number, unit: string): number {
  if (!(least > 0)) return 1;
  const bytes = isBytes(unit) && least > 1 ? BYTE_STEPS.find((step) => step >= least) : undefined;
  if (bytes) return bytes;
  const ten = 10 ** Math.floor(Math.log10(least));
  return ten * ([1, 2, 5, 10].find((n) => n * ten >= least * (1 - 1e-9)) ?? 10);
}

function room(pixels: Span): number {
  const length = Math.abs(pixels[1] - pixels[0]);
  return Math.max(1, Math.floor(length / (pixels[1] > pixels[0] ? SPACE.wide : SPACE.high)));
}

export function linear(domain: Span, pixels: Span, unit = ""): Scale {
  const [lo, hi] = domain[1] > domain[0] ? domain : [domain[0] - 0.5, domain[0] + 0.5];
  const [a, b] = pixels;
  const step = niceStep((hi - lo) / room(pixels), unit);
  const ticks: number[] = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) ticks.push(i * step);
  return {
    domain: [lo, hi],
    at: (v) => a + ((v - lo) / (hi - lo)) * (b - a),
    value: (p) => lo + ((p - a) / (b - a)) * (hi - lo),
    ticks,
  };
}

export function logarithmic(domain: Span, pixels: Span): Scale {
  const lo = domain[0] > 0 ? domain[0] : 1e-9;
  const hi = domain[1] > lo ? domain[1] : lo * 10;
  const [a, b] = pixels;
  const ratio = Math.log(hi / lo);
  const decades = ratio / Math.LN10;
  const fits = room(pixels);
  // All of 1, 2, 5 where there is room, else powers of ten, thinned.
  const marks = decades * 3 <= fits ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / fits));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(lo)); power <= Math.ceil(Math.log10(hi)); power += 1) {
    if (power % every !== 0) continue;
    for (const mark of marks) {
      const tick = mark * 10 ** power;
      if (tick >= lo * (1 - 1e-9) && tick <= hi * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return {
    domain: [lo, hi],
    at: (v) => (v > 0 ? a + (Math.log(v / lo) / ratio) * (b - a) : NaN),
    value: (p) => lo * Math.exp(((p - a) / (b - a)) * ratio),
    ticks,
  };
}

/** Names side by side: the middle of each is its place, 0, 1, 2 … */
export function places(count: number, pixels: Span): Scale {
  const scale = linear([-0.5, count - 0.5], pixels);
  const every = Math.max(1, Math.ceil(count / Math.max(1, room(pixels))));
  return { ...scale, ticks: Array.from({ length: count }, (_, i) => i).filter((i) => i % every === 0) };
}

/** The levels as ticks, without those that would hide one before. */
export function apart(levels: number[], scale: Scale): number[] {
  let last = -Infinity;
  return [...new Set(levels)].sort((a, b) => a - b).filter((level) => {
    if (scale.at(level) - last < 24) return false;
    last = scale.at(level);
    return true;
  });
}

/** Least and greatest of the numbers there are, [0, 1] where there are none. */
export function extent(values: Iterable<number | null | undefined>): Span {
  let [lo, hi] = [Infinity, -Infinity];
  for (const v of values) {
    if (v === null || v === undefined || !Number.isFinite(v)) continue;
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return lo <= hi ? [lo, hi] : [0, 1];
}

/** A span from 0, with a little air above (and below where there are negative values). */
export function fromZero([lo, hi]: Span): Span {
  const [least, most] = [Math.min(0, lo), Math.max(0, hi)];
  if (least === most) return [0, 1];
  return [least * 1.08, most * 1.08];
}

/** Labels of ticks: those of an axis have the same number of digits where their unit allows. */
export function label(value: number, unit: string): string {
  return human(Math.abs(value) < 1e-12 ? 0 : value, unit);
}
