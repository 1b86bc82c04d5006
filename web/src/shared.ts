// What all charts share: the moment under the pointer, the zoomed time range, the theme.

import { useEffect, useState } from "preact/hooks";

export class Shared<T> {
  private listeners = new Set<(value: T) => void>();
  constructor(public value: T) {}
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener(value);
  }
  on(tell: (value: T) => void): () => void {
    this.listeners.add(tell);
    return () => this.listeners.delete(tell);
  }
}

export function useShared<T>(shared: Shared<T>): T {
  const [value, setValue] = useState(shared.value);
  useEffect(() => {
    setValue(shared.value);
    return shared.on(setValue);
  }, [shared]);
  return value;
}

/** Seconds since the start under the pointer; null when it is over no chart. */
export const cursor = new Shared<number | null>(null);
/** The time range shown, seconds since the start; null for all. */
export const zoom = new Shared<[number, number] | null>(null);
/** The same a moment after it was last changed: what is asked of the server follows this. */
export const settled = new Shared<[number, number] | null>(null);
const CALM_MS = 150;
let calm = 0;
zoom.on((range) => {
  clearTimeout(calm);
  calm = window.setTimeout(() => settled.set(range), range === null ? 0 : CALM_MS);
});

/** The time range that charts show when nothing is zoomed, so that they stand one below the other; null for each its own. */
export const extent = new Shared<[number, number] | null>(null);

/** A choice that this browser remembers; where it may not, the choice lasts as long as the page. */
function remembered<T extends string>(name: string, words: readonly T[]): T | undefined {
  try {
    const word = localStorage.getItem(`fenxi-${name}`) as T | null;
    return word && words.includes(word) ? word : undefined;
  } catch {
    return undefined;
  }
}
function remember(name: string, word: string): void {
  try {
    localStorage.setItem(`fenxi-${name}`, word);
  } catch {
    // A browser that keeps nothing: see above.
  }
}

const THEMES = ["light", "dark"] as const;
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = remembered("theme", THEMES);
/** The theme in force. */
export const theme = new Shared<"light" | "dark">(chosen ?? (dark.matches ? "dark" : "light"));
dark.addEventListener("change", (e) => {
  if (!chosen) theme.set(e.matches ? "dark" : "light");
});
export function toggleTheme(): void {
  chosen = theme.value === "dark" ? "light" : "dark";
  remember("theme", chosen);
  theme.set(chosen);
}
const applyTheme = (t: string) => document.documentElement.setAttribute("data-theme", t);
applyTheme(theme.value);
theme.on(applyTheme);

/** In which zone moments are shown. */
export const zone = new Shared<"utc" | "local">(remembered("zone", ["utc", "local"]) ?? "utc");
zone.on((z) => remember("zone", z));

/** Whether charts show the moments at which something happened. */
export const marked = new Shared<"on" | "off">(remembered("marks", ["on", "off"]) ?? "on");
marked.on((m) => remember("marks", m));

document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") zoom.set(null);
});

// Colours that people with the common forms of colour blindness tell apart (Okabe-Ito and Tol),
// darker on white, lighter on black.
const LIGHT = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#b8559a",
  "#3a9bd9",
  "#c98a00",
  "#882255",
  "#2f9487",
  "#4b3fa0",
  "#85851f",
  "#a04fc4",
  "#7a3b10",
];
const DARK = [
  "#56b4e9",
  "#f08b45",
  "#2bc8a0",
  "#e79ac4",
  "#9bd3f7",
  "#f2b632",
  "#dd7ba2",
  "#7fd6c8",
  "#a79cf2",
  "#cfcf5c",
  "#cf96ea",
  "#d88a6a",
];

export function colour(i: number): string {
  const list = theme.value === "dark" ? DARK : LIGHT;
  return list[i % list.length];
}

// Viridis, by anchors: even in brightness, legible in grey and to the colour-blind.
const VIRIDIS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/** Red, green, blue for a share of the scale, 0 to 1. */
export function heat(share: number): [number, number, number] {
  return between(VIRIDIS, share);
}

/** The colour at a share, 0 to 1, of the way along `anchors`. */
function between(anchors: number[][], share: number): [number, number, number] {
  const place = Math.min(1, Math.max(0, share)) * (anchors.length - 1);
  const i = Math.min(anchors.length - 2, Math.floor(place));
  const mix = (k: number) => Math.round(anchors[i][k] + (anchors[i + 1][k] - anchors[i][k]) * (place - i));
  return [mix(0), mix(1), mix(2)];
}

// Blue over near white to orange: the two ends differ in hue for every common form of colour blindness.
const DIVERGING = [
  [20, 83, 148],
  [78, 143, 196],
  [163, 200, 226],
  [242, 242, 240],
  [251, 206, 154],
  [235, 143, 62],
  [168, 78, 10],
];

/** Red, green, blue for a place between less (-1), equal (0) and more (1). */
export function diverging(share: number): [number, number, number] {
  return between(DIVERGING, (share + 1) / 2);
}

/** Whether all of the page is drawn, wherever the window is: for the printer. */
export const everything = new Shared(false);

/** Whether an element has come within `margin` pixels of the window; once it has, it stays so. Printing shows all. */
export function useNear(ref: { current: Element | null }, margin = 600): boolean {
  const [near, setNear] = useState(false);
  const all = useShared(everything);
  useEffect(() => {
    const element = ref.current;
    if (!element || near) return;
    const show = () => setNear(true);
    const observer = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && show(), { rootMargin: `${margin}px` });
    observer.observe(element);
    addEventListener("beforeprint", show);
    return () => {
      observer.disconnect();
      removeEventListener("beforeprint", show);
    };
  }, [near]);
  return near || all;
}

/** Whether an element is in the window, or nearly. */
export function useSeen(ref: { current: Element | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new IntersectionObserver((all) => setSeen(all[all.length - 1].isIntersecting), { rootMargin: "200px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return seen;
}

/** The width of an element, followed as the window changes. */
export function useWidth(ref: { current: Element | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver((entries) => setWidth(Math.floor(entries[0].contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}
