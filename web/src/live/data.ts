// What comes from `/api/v1/live`: values of every series, a tick at a time, kept for some minutes.

import { useEffect, useReducer, useRef } from "preact/hooks";
import type { LiveSeries } from "../api.gen";
import { link } from "../router";

/** Ticks that are kept. */
const KEPT = 900;

interface Tick {
  t_ms: number;
  values: Record<string, number | null>;
  left_out?: number;
}

/** One series: `cpu.usr[0]` is the column `usr` of table `cpu` where its key is `0`. */
export interface Stream {
  key: string;
  table: string;
  column: string;
  /** What distinguishes it from others of its column; empty where there is only one. */
  label: string;
  values: (number | null)[];
}

export interface LiveData {
  /** Seconds since the epoch, one for each tick. */
  times: number[];
  streams: Map<string, Stream>;
  /** Values of the last tick that the server left out because there are too many. */
  leftOut: number;
}

/** A question that shows values as they come. */
export interface LiveQuestion {
  id: string;
  title: string;
  chart: string;
  live: LiveSeries;
}

/** Series that a chart shows at most: those that were the largest. */
const CHARTED = 12;

/** The series of a question, in the order of its columns. */
export function pick(streams: Stream[], { chart, live }: LiveQuestion): Stream[] {
  const place = (s: Stream) => live.columns.findIndex((c) => c.name === s.column);
  const wanted = { all: () => true, total: (s: Stream) => s.label === "", each: (s: Stream) => s.label !== "" }[live.series];
  const fits = streams.filter((s) => s.table === live.table && place(s) >= 0 && wanted(s));
  const size = (s: Stream) => s.values.reduce<number>((sum, v) => sum + (v ?? 0), 0);
  const sizes = new Map(fits.length > CHARTED ? fits.map((s) => [s, size(s)]) : []);
  const largest = sizes.size > 0 ? [...fits].sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, CHARTED) : fits;
  const rest = (values: Stream["values"]) => values.map((v) => (v === null ? null : 100 - v));
  const shown = largest.map((s) => (live.columns[place(s)].complement ? { ...s, values: rest(s.values) } : s));
  const byLabel = (a: Stream, b: Stream) => a.label.localeCompare(b.label, "en", { numeric: true });
  return shown.sort((a, b) => (chart === "stacked" ? 0 : byLabel(a, b)) || place(a) - place(b));
}

export function take(data: LiveData, tick: Tick): void {
  // Who connects again is given the past once more.
  if (data.times.length > 0 && tick.t_ms / 1000 <= data.times[data.times.length - 1]) return;
  data.times.push(tick.t_ms / 1000);
  data.leftOut = tick.left_out ?? 0;
  for (const [key, value] of Object.entries(tick.values)) {
    let stream = data.streams.get(key);
    if (!stream) {
      const [, table, column, label] = /^([^.[]+)\.([^[]+)(?:\[(.*)\])?$/s.exec(key) ?? ["", "", key, ""];
      stream = { key, table, column, label: label ?? "", values: new Array(data.times.length - 1).fill(null) };
      data.streams.set(key, stream);
    }
    stream.values.push(value);
  }
  // A series without a value this time has a gap; one that has been silent throughout is gone.
  for (const [key, stream] of data.streams) {
    while (stream.values.length < data.times.length) stream.values.push(null);
    if (data.times.length > KEPT) stream.values.shift();
    if ((data.times.length % 60 === 0 || data.times.length > KEPT) && stream.values.every((v) => v === null)) data.streams.delete(key);
  }
  if (data.times.length > KEPT) data.times.shift();
}

const none = (): LiveData => ({ times: [], streams: new Map(), leftOut: 0 });

export type Connection = "connecting" | "open" | "lost" | "ended";

/** Follows the open recording `run`, or this machine: a `source`, or those that are live anyway; `turn` counts ticks, so that charts know when to move. */
export function useLive(
  run: string | null,
  source: string | null,
): { data: LiveData; turn: number; connection: Connection; error: string } {
  const data = useRef<LiveData>(none());
  const connection = useRef<Connection>("connecting");
  const error = useRef("");
  const [turn, move] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let drawing = 0;
    error.current = "";
    data.current = none();
    connection.current = "connecting";
    const events = new EventSource(link("/api/v1/live", { run, source }));
    // What was before comes as many ticks at once: they are drawn once.
    const state = (now: Connection) => {
      connection.current = now;
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => move(0));
    };
    events.onopen = () => state("open");
    events.onerror = () => {
      // Refused for good, rather than cut off.
      if (events.readyState === EventSource.CLOSED)
        error.current = run ? `${run} is not being recorded` : `the server offers no live values${source ? ` of ${source}` : ""}`;
      state("lost");
    };
    events.addEventListener("tick", (e) => {
      take(data.current, JSON.parse((e as MessageEvent<string>).data) as Tick);
      state("open");
    });
    events.addEventListener("end", () => {
      events.close();
      state("ended");
    });
    events.addEventListener("failed", (e) => {
      error.current = (JSON.parse((e as MessageEvent<string>).data) as { error: string }).error;
      events.close();
      state("ended");
    });
    return () => {
      cancelAnimationFrame(drawing);
      events.close();
    };
  }, [run, source]);
  return { data: data.current, turn, connection: connection.current, error: error.current };
}
