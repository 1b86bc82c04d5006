// How values lie on the axis of a chart over time, and what is drawn over it with a second axis; both are kept in the address.

import { createContext } from "preact";
import type { Header, Panel, TimeData } from "../payload";
import { place, refine } from "../router";
import { useShared } from "../shared";

/** Latencies whose maximum is so many times the smallest have a logarithmic axis. */
const LATENCIES = 4;
/** Others have one from so many times on. */
const DECADES = 1000;
const TIMES = ["ms", "us", "ns"];

/** Whether a logarithmic axis shows more of these values. */
export function suitsLog(panel: Pick<Header, "chart" | "scale" | "unit">, time: TimeData | undefined): boolean {
  if (panel.chart !== "line" || !time) return false;
  if (panel.scale) return panel.scale === "log" && time.series.some((s) => (s.stats.max ?? 0) > 0);
  if (panel.unit === "%") return false;
  const some = time.series.filter((s) => (s.stats.max ?? 0) > 0);
  // What falls to 0 or below has no place on such an axis.
  if (some.length === 0 || some.some((s) => (s.stats.min ?? 0) < 0)) return false;
  const means = some.map((s) => s.stats.avg ?? 0).filter((v) => v > 0);
  if (means.length === 0) return false;
  const span = Math.max(...some.map((s) => s.stats.max ?? 0)) / Math.min(...means);
  if (TIMES.includes(panel.unit)) return span >= LATENCIES;
  return Math.max(...means) / Math.min(...means) >= DECADES && some.every((s) => (s.stats.min ?? 0) > 0);
}

const entry = (list: string[], panel: string) => list.find((e) => e.startsWith(`${panel}/`))?.slice(panel.length + 1);
const others = (list: string[], panel: string) => list.filter((e) => !e.startsWith(`${panel}/`));

/** Whether the chart of a panel has a logarithmic axis, and the way to change it. */
export function useLog(panel: Panel): [boolean, () => void] {
  const { query } = useShared(place);
  const usual = suitsLog(panel, panel.time);
  const chosen = entry(query.getAll("axis"), panel.id);
  const log = panel.chart === "line" && (chosen ? chosen === "log" : usual);
  const turn = () => {
    const word = log ? "linear" : "log";
    const own = (word === "log") === usual ? [] : [`${panel.id}/${word}`];
    refine({ axis: [...others(query.getAll("axis"), panel.id), ...own] });
  };
  return [log, turn];
}

/** The other questions over time of the page, that can be drawn over one. */
export const Beside = createContext<Header[]>([]);

/** The question that is drawn over a panel, and the way to choose another one. */
export function useOver(panel: Pick<Header, "id" | "over">): [string | null, (name: string | null) => void] {
  const { query } = useShared(place);
  const chosen = entry(query.getAll("over"), panel.id);
  const name = chosen === "none" ? null : (chosen ?? panel.over ?? null);
  const set = (next: string | null) => {
    const word = next ?? (panel.over ? "none" : null);
    const own = word === null || word === panel.over ? [] : [`${panel.id}/${word}`];
    refine({ over: [...others(query.getAll("over"), panel.id), ...own] });
  };
  return [name, set];
}

/** Values on the bins of `from` as they are at the ends of other bins. */
export function resampled(values: (number | null)[], from: TimeData, times: number[]): (number | null)[] {
  return times.map((t) => values[Math.ceil((t - from.t0) / from.step - 1e-6)] ?? null);
}
