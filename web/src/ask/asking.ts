// What is asked on the page Ask: the SQL, how it is drawn, over which runs; all of it in the address.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { ApiError, ask, forget, peek, request, type Values } from "../api";
import type { Cell, Header, Panel, SqlRows } from "../api.gen";
import { refine } from "../router";
import { plural } from "../units";

/** The parameters of the address that belong to the question. */
export interface Asked {
  /** The name of the question it began with. */
  question: string | null;
  sql: string;
  chart: string;
  x: string | null;
  y: string[];
  series: string | null;
  unit: string | null;
  run: string[];
  params: Record<string, string>;
}

/** Chart words with what they are called. */
export const CHARTS: [string, string][] = [
  ["table", "table"],
  ["line", "lines over time"],
  ["stacked", "stacked areas"],
  ["heatmap", "heat map"],
  ["bar", "bars"],
  ["tiles", "tiles"],
  ["summary", "summary"],
  ["scatter", "scatter"],
  ["histogram", "histogram"],
  ["interval", "values with intervals"],
  ["flame", "flame graph"],
];

/** What the address asks; `known` are the questions as far as they are here. */
export function askedOf(query: URLSearchParams, known: Header[]): Asked {
  const question = query.get("question");
  const base = known.find((q) => q.id === question);
  const given = (name: string) => query.get(name) || undefined;
  const params: Record<string, string> = {};
  for (const [name, value] of query) if (name.startsWith("p.")) params[name.slice(2)] = value;
  return {
    question,
    sql: (query.get("q") ?? base?.sql ?? "").trim(),
    chart: given("chart") ?? base?.chart ?? "table",
    x: given("x") ?? base?.x ?? null,
    y: (given("y")?.split(",") ?? base?.y ?? []).filter(Boolean),
    series: given("series") ?? base?.series ?? null,
    unit: given("unit") ?? base?.unit ?? null,
    run: query.getAll("run"),
    params,
  };
}

/** Writes what is asked into the address: only what differs from the question it began with. */
export function writeAsked(asked: Asked, known: Header[]): void {
  const base = known.find((q) => q.id === asked.question);
  const differs = (mine: string | null, its: string | undefined) => ((mine ?? "") === (its ?? "") ? null : mine);
  const values: Values = {
    question: base ? asked.question : null,
    q: base && asked.sql.trim() === base.sql.trim() ? null : asked.sql,
    chart: base ? differs(asked.chart, base.chart) : asked.chart === "table" ? null : asked.chart,
    x: differs(asked.x, base?.x),
    y: differs(asked.y.join(","), base?.y?.join(",")),
    series: differs(asked.series, base?.series),
    unit: differs(asked.unit, base?.unit),
    run: asked.run,
  };
  for (const name of namesOf(asked.sql)) values[`p.${name}`] = asked.params[name] ?? null;
  refine(values, true);
}

/** The parameters in SQL, `$name`. */
export function namesOf(sql: string): string[] {
  const bare = sql.replace(/'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  return [...new Set([...bare.matchAll(/(?<!\w)\$([a-z_]\w*)/gi)].map((m) => m[1]))];
}

/** Rows that a table shows at most. */
export const LIMIT = 2000;
export const DEFAULT_RUN = "@1";

/** A request that answers. */
export interface Wanted {
  path: "panel" | "sql";
  values: Values;
}

/** The request that answers; null while nothing is asked. */
export function requestOf(asked: Asked, base: Header | undefined): Wanted | null {
  if (asked.sql.trim() === "") return null;
  const run = asked.run.length > 0 ? asked.run : [DEFAULT_RUN];
  const params = Object.fromEntries(Object.entries(asked.params).map(([k, v]) => [`p.${k}`, v]));
  const same = base && asked.sql.trim() === base.sql.trim();
  const drawn =
    same &&
    asked.chart === base.chart &&
    (asked.x ?? "") === (base.x ?? "") &&
    asked.y.join() === (base.y ?? []).join() &&
    (asked.series ?? "") === (base.series ?? "") &&
    (asked.unit ?? "") === (base.unit ?? "");
  if (drawn) return { path: "panel", values: { question: base.id, run, ...params } };
  if (asked.chart === "table" && namesOf(asked.sql).length === 0) return { path: "sql", values: { q: asked.sql, run, limit: LIMIT } };
  const { sql, chart, x, y, series, unit } = asked;
  return { path: "panel", values: { sql, chart, x, y: y.join(","), series, unit, run, rows: LIMIT, ...params } };
}

/** Rows as a panel that shows a table. */
function panelOf(rows: SqlRows, sql: string): Panel {
  const number = (type: string) => /INT|DOUBLE|FLOAT|DECIMAL|REAL|NUMERIC|number/i.test(type) && !/\[|LIST|INTERVAL/i.test(type);
  const columns = rows.columns.map((c) => ({ name: c.name, unit: c.unit ?? "", numeric: number(c.type), whole: /INT/i.test(c.type) }));
  return {
    id: "answer",
    title: "Answer",
    about: "",
    section: "",
    chart: "table",
    unit: "",
    y: [],
    params: [],
    sql,
    own: true,
    carried: false,
    columns: {},
    // A table shows truth values and lists of anything as well.
    table: { columns, rows: rows.rows as Cell[][], total: rows.total ?? rows.rows.length },
  };
}

function sizeOf(rows: SqlRows | undefined, panel: Panel | undefined): string | undefined {
  if (rows?.cut) return `the first ${rows.rows.length.toLocaleString("en")} rows`;
  const total = rows ? rows.rows.length : panel?.table?.total;
  if (total === undefined) return panel?.time ? `${panel.time.series.length} series` : undefined;
  return plural(total, "row");
}

/** What is asked by SQL has no title. */
const named = (panel: Panel | undefined) => panel && { ...panel, id: panel.id || "answer", title: panel.title || "Answer" };

export interface Running {
  panel?: Panel;
  /** How many rows, in words. */
  size?: string;
  took_ms?: number;
  error?: ApiError;
  pending: boolean;
  cancelled: boolean;
  cancel: () => void;
  again: () => void;
}

/** Asks what the address asks, and lets it be cancelled and asked again. */
export function useAsked(wanted: Wanted | null, sql: string): Running {
  const key = wanted && request(wanted.path, wanted.values);
  const [turn, again] = useReducer((n: number) => n + 1, 0);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const state = useRef<{
    key: string | null;
    answer?: Panel | SqlRows;
    took?: number;
    error?: ApiError;
    done: boolean;
    cancelled: boolean;
    stop?: AbortController;
  }>({ key: null, done: true, cancelled: false });
  useEffect(() => {
    if (!wanted || !key) return;
    const stop = new AbortController();
    const began = performance.now();
    const before = state.current.key === key ? undefined : state.current.answer;
    state.current = { key, answer: peek(key) ?? before, done: false, cancelled: false, stop };
    redraw(0);
    const end = (more: object) => {
      if (stop.signal.aborted || state.current.stop !== stop) return;
      state.current = { ...state.current, done: true, took: performance.now() - began, ...more };
      redraw(0);
    };
    ask(wanted.path, wanted.values, stop.signal).then(
      (answer) => end({ answer, error: undefined }),
      (error) => end({ answer: undefined, error: error instanceof ApiError ? error : new ApiError(0, String(error)) }),
    );
    return () => stop.abort();
  }, [key, turn]);
  const { answer, error, done, cancelled, took, stop } = state.current;
  const rows = answer && "took_ms" in answer ? (answer as SqlRows) : undefined;
  return {
    panel: rows ? panelOf(rows, sql) : named(answer as Panel | undefined),
    size: sizeOf(rows, answer as Panel | undefined),
    took_ms: rows?.took_ms ?? took,
    error,
    pending: key !== null && !done,
    cancelled,
    cancel: () => {
      stop?.abort();
      state.current = { ...state.current, done: true, cancelled: true, answer: undefined };
      redraw(0);
    },
    again: () => {
      if (key) forget(key);
      again(0);
    },
  };
}

/** The text of a question's file. */
export function questionText(asked: Asked, title: string, about: string, section: string): string {
  const head: [string, string | null][] = [
    ["title", title],
    ["about", about],
    ["section", section],
    ["chart", asked.chart],
    ["x", asked.x],
    ["y", asked.y.join(", ")],
    ["series", asked.series],
    ["unit", asked.unit],
    ...namesOf(asked.sql).map((n): [string, string] => ["param", `${n} = ${asked.params[n] ?? ""}`]),
  ];
  const line = ([key, value]: [string, string | null]) => (value ? [`-- ${key}: ${value.replace(/\s+/g, " ").trim()}`] : []);
  return `${head.flatMap(line).join("\n")}\n${asked.sql.trim()}\n`;
}
