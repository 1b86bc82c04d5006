// What the API answers about runs and questions, and how numbers are packed in it. Nothing here knows what a disk
// or a CPU is; a panel is the answer to one question.

/** The answer of `run`: what there is to see, without data. */
export interface Opened {
  title: string;
  runs: Run[];
  sections: Section[];
}

/** What stands out; `looked` is the number of rules. */
export interface Findings {
  looked: number;
  found: Finding[];
}

export interface Finding {
  id: string;
  title: string;
  severity: "critical" | "warning" | "info";
  advice: string;
  /** The panel that shows the evidence; it may have nothing to show. */
  ask?: string;
  own: boolean;
  said: Said[];
  /** Occurrences that are left out. */
  more: number;
  error?: string;
}

export interface Said {
  /** Index into `runs`. */
  run: number;
  host: string | null;
  text: string;
}

/** What lists and pages say of a run. */
export interface RunHead {
  id: string;
  name: string;
  kind: string;
  hosts: string[];
  /** Milliseconds since the epoch, UTC. */
  start_ms: number;
  duration_s: number;
  command: string;
  exit_status: number | null;
  signal: number | null;
  recovered: boolean;
  baseline: boolean;
  params: Record<string, string>;
  tags: Record<string, string>;
  remarks: string[];
}

export interface Run extends RunHead {
  interval_s: number | null;
  ticks: number | null;
  missed_ticks: number | null;
  /** CPU seconds that recording itself took. */
  cost_s: number | null;
  /** Named parts, seconds since the start. */
  windows?: Named[];
  /** Where the steady part begins, as far as that was seen. */
  warmup_s?: number | null;
  /** What each source of a recording cost. */
  costs?: Cost[];
  tables?: { table: string; rows: number; bytes: number }[];
}

export interface Named {
  name: string;
  from_s: number;
  to_s: number;
}

export interface Cost {
  source: string;
  cpu_s: number | null;
  ticks: number | null;
  [more: string]: unknown;
}

export interface Section {
  id: string;
  title: string;
  panels: Header[];
}

/** A question as it stands; a panel without its data. */
export interface Header {
  id: string;
  title: string;
  about: string;
  chart: string;
  unit: string;
  /** Column that tells series apart, and the single column of values, where there is one. */
  series?: string;
  values?: string;
  x?: string;
  y?: string[];
  params?: Param[];
  sql: string;
  /** Written by the user, not shipped. */
  own: boolean;
  /** Whether the runs brought it with them: whoever made their files wrote it. */
  carried: boolean;
}

export interface Param {
  name: string;
  default: string | number | boolean | null;
  about: string;
}

export interface Panel extends Header {
  /** Meaning of columns by name, from the catalogue. */
  columns: Record<string, Meaning>;
  /** Why there is nothing to draw: "empty" (no rows) or "zero" (nothing but zeros). */
  quiet?: "empty" | "zero";
  error?: string;
  table?: TableData;
  time?: TimeData;
}

export interface Meaning {
  unit: string;
  doc: string;
  better: string;
}

export interface TableData {
  columns: { name: string; unit: string; numeric: boolean; whole: boolean }[];
  /** A list of numbers is a sparkline. */
  rows: (string | number | boolean | null | (number | null)[])[][];
  /** Rows of the whole answer; more than `rows.length` when it was cut. */
  total: number;
}

export interface TimeData {
  /** End of the first bin and length of a bin, seconds since each run's start. */
  t0: number;
  step: number;
  n: number;
  series: SeriesData[];
  /** Series of the answer that the page leaves out, those of the lowest values. */
  left_out: number;
  /** Maximum mean of any bin: the one scale of a heat map. */
  max: number;
}

export interface SeriesData {
  /** Index into `runs`. */
  run: number;
  name: string;
  unit: string;
  avg: Packed;
  min?: Packed;
  max?: Packed;
  /** Mean of the bins; minimum and maximum sample. */
  stats: { avg: number | null; min: number | null; max: number | null; trend_pct: number | null };
}

/**
 * Numbers in base64. `log`: 16 bits little-endian, 0 = missing, 1 = zero, 2… = lo·(hi/lo)^((c-2)/65533).
 * `lin`: 16 bits, 0 = missing, 1… = lo + (hi-lo)·(c-1)/65534.
 */
export interface Packed {
  as: "log" | "lin";
  lo: number;
  hi: number;
  d: string;
}

export type Numbers = (number | null)[];

const cache = new WeakMap<Packed, Numbers>();

export function unpack(p: Packed): Numbers {
  const known = cache.get(p);
  if (known) return known;
  const text = atob(p.d);
  const out: Numbers = [];
  const ratio = p.as === "log" && p.lo > 0 ? Math.log(p.hi / p.lo) : 0;
  for (let i = 0; i + 1 < text.length; i += 2) {
    const c = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 8);
    if (c === 0) out.push(null);
    else if (p.as === "lin") out.push(p.lo + ((p.hi - p.lo) * (c - 1)) / 65534);
    else out.push(c === 1 ? 0 : p.lo * Math.exp((ratio * (c - 2)) / 65533));
  }
  cache.set(p, out);
  return out;
}
