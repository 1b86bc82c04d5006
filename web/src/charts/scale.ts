// From values to pixels and back, with ticks that read well: linear, logarithmic, and places for names.

import { short } from "../units";

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

/** No axis has room for more. */
const MOST_TICKS = 1000;

const isBytes = (unit: string) => unit.startsWith("B");

/** Steps of an axis of bytes: even numbers of B, KiB, MiB and so on. */
export const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** The smallest step that reads well (1, 2, 5 · 10ⁿ, for bytes 2ⁿ) and is not below `minimum`. */
function niceStep(minimum: number, unit: string): number {
  if (!(minimum > 0)) return 1;
  const bytes = isBytes(unit) && minimum > 1 ? BYTE_STEPS.find((step) => step >= minimum) : undefined;
  if (bytes) return bytes;
  const ten = 10 ** Math.floor(Math.log10(minimum));
  return ten * ([1, 2, 5, 10].find((n) => n * ten >= minimum * (1 - 1e-9)) ?? 10);
}

function room(pixels: Span): number {
  const length = Math.abs(pixels[1] - pixels[0]);
  return Math.max(1, Math.floor(length / (pixels[1] > pixels[0] ? SPACE.wide : SPACE.high)));
}

export function linear(domain: Span, pixels: Span, unit = ""): Scale {
  const [lo, hi] = domain[1] > domain[0] ? domain : [domain[0] - 0.5, domain[0] + 0.5];
  const [a, b] = pixels;
  const step = niceStep((hi - lo) / room(pixels), unit);
  const first = Math.ceil(lo / step - 1e-9);
  // Counted, since beyond 2^53 adding one to `first` would change nothing.
  const last = Math.min(MOST_TICKS, Math.floor((hi - first * step) / step + 1e-9));
  const ticks = Array.from({ length: Math.max(0, last + 1) || 0 }, (_, i) => (first + i) * step);
  return {
    domain: [lo, hi],
    at: (v) => a + ((v - lo) / (hi - lo)) * (b - a),
    value: (p) => lo + ((p - a) / (b - a)) * (hi - lo),
    ticks,
  };
}

export function logarithmic(domain: Span, pixels: Span, unit = ""): Scale {
  const lo = domain[0] > 0 ? domain[0] : 1e-9;
  const hi = domain[1] > lo ? domain[1] : lo * 10;
  const [a, b] = pixels;
  const ratio = Math.log(hi / lo);
  // Bytes have other round numbers: powers of two, where there is no room for all every so many.
  const base = isBytes(unit) ? 2 : 10;
  const decades = ratio / Math.log(base);
  const fits = room(pixels);
  // All of 1, 2, 5 where there is room, else powers of ten, thinned.
  const marks = base === 10 && decades * 3 <= fits ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / fits));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log(lo) / Math.log(base)); power <= Math.ceil(Math.log(hi) / Math.log(base)); power += 1) {
    if (power % every !== 0) continue;
    for (const mark of marks) {
      const tick = mark * base ** power;
      if (tick >= lo * (1 - 1e-9) && tick <= hi * (1 + 1e-9)) ticks.push(tick);
    }
  }
  // Within a decade there may be none of these, or one, which does not show the scale.
  if (ticks.length < 2) ticks.splice(0, 1, ...linear([lo, hi], pixels, unit).ticks);
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

/** The levels as ticks, without those that would hide one before, and those that have no place. */
export function apart(levels: number[], scale: Scale): number[] {
  let last = -Infinity;
  return [...new Set(levels)]
    .sort((a, b) => a - b)
    .filter((level) => {
      const isApart = Math.abs(scale.at(level) - last) >= 24;
      if (isApart) last = scale.at(level);
      return isApart;
    });
}

/** Minimum and maximum of the numbers there are, [0, 1] where there are none. */
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
  const [minimum, most] = [Math.min(0, lo), Math.max(0, hi)];
  if (minimum === most) return [0, 1];
  return [minimum * 1.08, most * 1.08];
}

/** Labels of ticks, which are round numbers: all their digits and no zeros that say nothing. Of bytes, which are round in
 * another base, as many as tell them apart. */
export function tickTexts(ticks: number[], unit: string): string[] {
  const texts = (more: number) => ticks.map((tick) => short(Math.abs(tick) < 1e-12 ? 0 : tick, unit, more));
  const isEnough = (now: string[], next: string[]) =>
    isBytes(unit) ? new Set(now).size === new Set(next).size : now.every((text, i) => text === next[i]);
  let now = texts(0);
  for (let more = 1; more <= 4; more++) {
    const next = texts(more);
    if (isEnough(now, next)) break;
    now = next;
  }
  return now;
}
