// What the API has about the runs of a store, and the state of the list in the address.

import type { Values } from "../api";
import type { ListedRun } from "../api.gen";
import { zone } from "../shared";

export type { ListedRun as Listed, RunList } from "../api.gen";

/** Runs on one page of the list. */
export const PAGE = 100;

/** The begin of a day, or of one that follows it, in the zone chosen. */
function midnight(day: string | null, later: number): string | null {
  const begin = day ? new Date(zone.value === "utc" ? `${day}T00:00:00Z` : `${day}T00:00:00`) : null;
  if (!begin || Number.isNaN(begin.getTime())) return null;
  // Not every day has 24 hours: the zone's own calendar counts them.
  if (zone.value === "utc") begin.setUTCDate(begin.getUTCDate() + later);
  else begin.setDate(begin.getDate() + later);
  return begin.toISOString();
}

/** Results that are most useful about a run, judged by their names. */
const TELLING = ["throughput", "tps", "p95", "p99", "latency", "elapsed", "user_time", "max_rss"];

/** Results to show when nothing was chosen. */
export function telling(results: string[]): string[] {
  const place = (name: string) => {
    const found = TELLING.findIndex((word) => name.includes(word));
    return found < 0 ? TELLING.length : found;
  };
  return [...results].sort((a, b) => place(a) - place(b)).slice(0, 3);
}

/** Which page of the list the address names, from 1. */
export function pageOf(query: URLSearchParams): number {
  const page = Number(query.get("page"));
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

/** What the list asks, from the query of its address. */
export function listed(query: URLSearchParams): Values {
  return {
    where: query.getAll("where"),
    text: query.get("text"),
    host: query.get("host"),
    from: midnight(query.get("since"), 0),
    to: midnight(query.get("until"), 1),
    sort: query.get("sort"),
    desc: query.get("desc"),
    limit: PAGE,
    offset: (pageOf(query) - 1) * PAGE || null,
    sparkline: query.get("spark"),
  };
}

/** How a run ended, in a word or two. */
export function ending(run: ListedRun): { text: string; bad: boolean } {
  if (run.recovered) return { text: "recovered", bad: true };
  if (run.signal !== null) return { text: `signal ${run.signal}`, bad: true };
  if (run.exit_status) return { text: `exit ${run.exit_status}`, bad: true };
  return { text: run.exit_status === 0 ? "ok" : run.kind, bad: false };
}

/** Two groups to compare out of what was picked: those of two names or of two values of one label, otherwise the
 * earliest against the rest. */
export function halves(picked: ListedRun[]): [ListedRun[], ListedRun[]] {
  const runs = [...picked].sort((a, b) => a.start_ms - b.start_ms);
  const keys = [...new Set(runs.flatMap((r) => [...Object.keys(r.params), ...Object.keys(r.tags)]))];
  const ways: ((r: ListedRun) => string)[] = [(r) => r.name, ...keys.map((k) => (r: ListedRun) => r.params[k] ?? r.tags[k] ?? "")];
  for (const way of ways) {
    const values = [...new Set(runs.map(way))];
    if (values.length === 2) return [runs.filter((r) => way(r) === values[0]), runs.filter((r) => way(r) === values[1])];
  }
  return [runs.slice(0, 1), runs.slice(1)];
}
