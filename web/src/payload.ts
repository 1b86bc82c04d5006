// What the API answers about runs and questions, and how numbers are packed in it. Nothing here knows what a disk
// or a CPU is; a panel is the answer to one question.

import type { Packed } from "./api.gen";

export type {
  Finding,
  Findings,
  Header,
  Occurrence,
  Opened,
  Panel,
  Run,
  RunWindow as Named,
  Section,
  SeriesData,
  TableData,
  TimeData,
} from "./api.gen";

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
