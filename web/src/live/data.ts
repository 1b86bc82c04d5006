// What comes from `/api/v1/live`: values of every series, a tick at a time, kept for some minutes.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { link } from "../router";

/** Ticks that are kept. */
const KEPT = 900;

interface Tick {
  t_ms: number;
  values: Record<string, number | null>;
}

/** One series: `cpu.usr[0]` is the column `usr` of table `cpu` where its key is `0`. */
export interface Stream {
  key: string;
  table: string;
  column: string;
  /** What tells it apart from others of its column; empty where there is only one. */
  label: string;
  values: (number | null)[];
}

export interface LiveData {
  /** Seconds since the epoch, one for each tick. */
  times: number[];
  streams: Map<string, Stream>;
}

export function take(data: LiveData, tick: Tick): void {
  data.times.push(tick.t_ms / 1000);
  for (const [key, value] of Object.entries(tick.values)) {
    let stream = data.streams.get(key);
    if (!stream) {
      const [, table, column, label] = /^([^.[]+)\.([^[]+)(?:\[(.*)\])?$/s.exec(key) ?? ["", "", key, ""];
      stream = { key, table, column, label: label ?? "", values: new Array(data.times.length - 1).fill(null) };
      data.streams.set(key, stream);
    }
    stream.values.push(value);
  }
  // A series that said nothing this time has a gap; one that has been silent throughout is gone.
  for (const [key, stream] of data.streams) {
    while (stream.values.length < data.times.length) stream.values.push(null);
    if (data.times.length > KEPT) stream.values.shift();
    if ((data.times.length % 60 === 0 || data.times.length > KEPT) && stream.values.every((v) => v === null)) data.streams.delete(key);
  }
  if (data.times.length > KEPT) data.times.shift();
}

export type Connection = "connecting" | "open" | "lost" | "ended";

/** Follows this machine, or the open recording `run`; `turn` counts ticks, so that charts know when to move. */
export function useLive(run: string | null): { data: LiveData; turn: number; connection: Connection; error: string } {
  const data = useRef<LiveData>({ times: [], streams: new Map() });
  const connection = useRef<Connection>("connecting");
  const error = useRef("");
  const [turn, move] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let drawing = 0;
    error.current = "";
    data.current = { times: [], streams: new Map() };
    connection.current = "connecting";
    const source = new EventSource(link("/api/v1/live", { run }));
    // What was before comes as many ticks at once: they are drawn once.
    const state = (now: Connection) => {
      connection.current = now;
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => move(0));
    };
    source.onopen = () => state("open");
    source.onerror = () => {
      // Refused for good, rather than cut off.
      if (source.readyState === EventSource.CLOSED)
        error.current = run ? `${run} is not being recorded` : "the server does not offer live values";
      state("lost");
    };
    source.addEventListener("tick", (e) => {
      take(data.current, JSON.parse((e as MessageEvent<string>).data) as Tick);
      state("open");
    });
    source.addEventListener("end", () => {
      source.close();
      state("ended");
    });
    source.addEventListener("failed", (e) => {
      error.current = (JSON.parse((e as MessageEvent<string>).data) as { error: string }).error;
      source.close();
      state("ended");
    });
    return () => {
      cancelAnimationFrame(drawing);
      source.close();
    };
  }, [run]);
  return { data: data.current, turn, connection: connection.current, error: error.current };
}
