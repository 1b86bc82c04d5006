// Series over time: when each bin ends, what is shown of one, and which part of their names distinguishes them.

import type { Run, TimeData } from "./payload";
import { clock, duration, moment } from "./units";

/** The ends of the bins. The last one may be short: it ends with the longest of `runs`. */
export function timesOf(time: TimeData, runs: Pick<Run, "duration_s">[] = []): number[] {
  const times = Array.from({ length: time.n }, (_, i) => time.t0 + i * time.step);
  const [end, last] = [Math.max(0, ...runs.map((r) => r.duration_s)), time.n - 1];
  if (last > 0 && end > times[last - 1] && end < times[last]) times[last] = end;
  return times;
}

/** `4:05 since the start · 2026-11-21 14:26:38 UTC`; a bin that took clearly less time than the others has its length. */
export function head(t: number, step: number, runs: Run[], only?: number, took_s = step): string {
  const run = runs.length === 1 ? runs[0] : only === undefined ? undefined : runs[only];
  const short = took_s < 0.9 * step ? `, of ${duration(took_s)} only` : "";
  const at = `${clock(t, step < 1 || short !== "")}`;
  return (run ? `${at} · ${moment(run.start_ms + t * 1000).slice(11)}` : `${at} since the start`) + short;
}

/** The address or path that all names begin with, which distinguishes none of them; empty where there is none. */
export function sharedAddress(names: string[]): string {
  const first = names[0] ?? "";
  const address = first.slice(0, first.indexOf(" ") + 1);
  return names.length > 1 && /[/:]/.test(address) && names.every((name) => name.startsWith(address)) ? address : "";
}
