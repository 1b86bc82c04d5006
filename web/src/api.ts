// Asks `/api/v1`. A report file carries the answers of its page; a page of the server fetches them. A request has
// one canonical text, so that both, and the cache here, know it again.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { type Answers, CHANGING, ORDER } from "./api.gen";
import { Shared, useShared } from "./shared";

export type Value = string | number | boolean | null | undefined;
/** What can be asked: the path of a request. */
export type Endpoint = keyof Answers;
export type Values = Record<string, Value | readonly string[]>;

const ROOT = "/api/v1/";
/** What a request leaves out because it is meant anyway. */
const DEFAULTS: Record<string, string> = { bins: "600", format: "json" };
interface Embedded {
  version: number;
  title: string;
  generator: string;
  page: string;
  answers: Record<string, unknown>;
}

/** Pairs of a request; lists repeat the name, nothing and false are left out. */
export function pairs(values: Values, order: string[] = []): [string, string][] {
  const names = Object.keys(values);
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const sorted = order.length > 0 ? names.sort((a, b) => place(a) - place(b) || a.localeCompare(b)) : names;
  return sorted.flatMap((name) => {
    const value = values[name];
    const list = Array.isArray(value) ? value : [value];
    return list.filter((v) => v !== null && v !== undefined && v !== "" && v !== false).map((v): [string, string] => [name, String(v)]);
  });
}

/** The values of a query by name, as `pairs` takes them; whatever the names are, `constructor` too. */
export function lists(query: URLSearchParams): Record<string, string[]> {
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));
}

/** The canonical text of a request. */
export function request(path: string, values: Values = {}): string {
  const list = pairs(values, (ORDER[path] ?? "").split(" ")).filter(([name, value]) => DEFAULTS[name] !== value);
  const query = new URLSearchParams(list).toString();
  return ROOT + path + (query ? `?${query}` : "");
}

/** The same for the text of a request, whatever its order. */
function canonical(text: string): string {
  const url = new URL(text, "http://localhost");
  return request(url.pathname.slice(ROOT.length), lists(url.searchParams));
}

/** The report in this file; null on a server. */
export const embedded: Embedded | null = (() => {
  const text = document.getElementById("fenxi-data")?.textContent;
  if (!text) return null;
  const file = JSON.parse(text) as Embedded;
  if (file.version !== 2) throw new Error(`this page draws reports of version 2, not ${file.version}`);
  return file;
})();
/** Whether this is a file, without a server behind it. */
export const offline = embedded !== null;

const answers = new Map<string, unknown>(Object.entries(embedded?.answers ?? {}).map(([text, answer]) => [canonical(text), answer]));
/** So much text of answers is kept, characters; the longest unused go first. What a file holds stays. */
const KEPT = 40e6;
const sizes = new Map<string, number>();
let held = 0;
/** For so long an answer that may change is not asked for again by what else is drawn then, milliseconds. */
const FRESH_MS = 2000;
const landed = new Map<string, number>();
const isFresh = (key: string) => performance.now() - (landed.get(key) ?? -Infinity) < FRESH_MS;

/** An answer that is here already. */
export function peek<T>(key: string): T | undefined {
  const size = sizes.get(key);
  if (size !== undefined && sizes.delete(key)) sizes.set(key, size);
  return answers.get(key) as T | undefined;
}

/** Lets the next request for an answer go to the server. */
export function forget(key: string): void {
  if (!offline) drop(key);
}

function drop(key: string): void {
  answers.delete(key);
  landed.delete(key);
  held -= sizes.get(key) ?? 0;
  sizes.delete(key);
}

function keep(key: string, answer: unknown, size: number): void {
  drop(key);
  answers.set(key, answer);
  sizes.set(key, size);
  landed.set(key, performance.now());
  held += size;
  for (const oldest of sizes.keys()) {
    if (held <= KEPT || oldest === key) break;
    drop(oldest);
  }
}

export class ApiError extends Error {
  /** `status` is that of HTTP; 0 when there was no answer at all. */
  constructor(
    readonly status: number,
    message: string,
    /** Names like the one that was asked for, where there is none of it. */
    readonly near: string[] = [],
  ) {
    super(message);
  }
}

/** What goes wrong between here and the server, in words. */
async function refused(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  let message = text.slice(0, 500);
  let near: string[] | undefined;
  try {
    const reply = JSON.parse(text) as { error: string; near?: string[] };
    message = reply.error ?? message;
    near = reply.near;
  } catch {
    // Not of our making: its text as it is.
  }
  if (response.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  return new ApiError(response.status, message || `the server answers ${response.status} ${response.statusText}`, near);
}

/** Sends anything to the server. */
export async function send(url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "the server does not answer: is `fenxi serve` still running?");
  }
  if (!response.ok) throw await refused(response);
  return response;
}

const LANES = 4;
let busy = 0;
const waiting: (() => void)[] = [];
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Fetches one answer; a few at a time, so that what is asked next does not wait behind everything else. */
async function fetchAnswer(key: string, signal: AbortSignal): Promise<{ answer: unknown; size: number }> {
  if (busy >= LANES) await new Promise<void>((start) => waiting.push(start));
  busy++;
  try {
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        const text = await (await send(key, { signal })).text();
        return { answer: JSON.parse(text), size: text.length };
      } catch (error) {
        // A server with a full queue answers so; it is asked again a little later.
        if (!(error instanceof ApiError) || error.status !== 503 || attempt > 5) throw error;
        await pause(300 * 2 ** attempt);
      }
    }
  } finally {
    busy--;
    waiting.shift()?.();
  }
}

interface Flight {
  answer: Promise<unknown>;
  users: number;
  stop: AbortController;
}
const flights = new Map<string, Flight>();

/** The answer of a request, from here if it is here; `signal` gives up waiting, and the request when no caller waits any more. */
export async function ask<P extends Endpoint>(path: P, values: Values = {}, signal?: AbortSignal): Promise<Answers[P]> {
  const key = request(path, values);
  if (answers.has(key) && (offline || !CHANGING.includes(path))) return peek<Answers[P]>(key)!;
  if (offline) throw new ApiError(404, "this file does not contain the answer; open the store it was made from with `fenxi serve`");
  let flight = flights.get(key);
  if (!flight) {
    const stop = new AbortController();
    const arrived = () => flights.get(key)?.stop === stop && flights.delete(key);
    const answer = fetchAnswer(key, stop.signal).then(
      (got) => {
        // Of what changed meanwhile the answer is of before: it is not kept.
        if (arrived()) keep(key, got.answer, got.size);
        return got.answer;
      },
      (error) => {
        arrived();
        throw error;
      },
    );
    // Callers that wait get the error; without any, it is dropped.
    answer.catch(() => undefined);
    flight = { answer, users: 0, stop };
    flights.set(key, flight);
  }
  const shared = flight;
  shared.users++;
  const leave = () => {
    shared.users--;
    if (shared.users === 0) {
      if (flights.get(key) === shared) flights.delete(key);
      shared.stop.abort();
    }
  };
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return (await shared.answer) as Answers[P];
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

/** Counts changes of the store made from here: what shows it asks again. */
export const generation = new Shared(0);

/** Forgets what may have changed, and lets what shows it ask again: no caller joins a request that began before. */
export function changed(): void {
  const mayChange = (key: string) => CHANGING.some((c) => key === ROOT + c || key.startsWith(`${ROOT}${c}?`));
  [...answers.keys()].filter(mayChange).forEach(drop);
  for (const key of [...flights.keys()].filter(mayChange)) flights.delete(key);
  generation.set(generation.value + 1);
}

/** Changes the store; `body` is sent as JSON, or as it is when it is a file or text. What is removed may still be shown:
 * who removes it calls `changed` when it no longer is. */
export async function change<T>(method: "PUT" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
  const raw = body instanceof Blob || typeof body === "string";
  const response = await send(ROOT + path, {
    method,
    headers: { "X-Fenxi": "1", ...(body !== undefined && !raw ? { "Content-Type": "application/json" } : {}) },
    body: body === undefined ? undefined : raw ? (body as BodyInit) : JSON.stringify(body),
  });
  if (method !== "DELETE") changed();
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export interface Answer<T> {
  /** That of the request before while the present one is under way: see `stale`. */
  data?: T;
  stale: boolean;
  error?: ApiError;
}

/** The answer of a request in a component; null asks nothing. What is known is there in the first drawing. */
export function useAnswer<P extends Endpoint>(path: P, values: Values | null): Answer<Answers[P]> {
  const key = values === null ? null : request(path, values);
  const changed = useShared(generation);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const held = useRef<{ key: string | null; data?: Answers[P]; error?: ApiError }>({ key: null });
  const known = key === null ? undefined : peek<Answers[P]>(key);
  if (known !== undefined) held.current = { key, data: known, error: held.current.key === key ? held.current.error : undefined };
  useEffect(() => {
    if (key === null || values === null) return;
    if (peek(key) !== undefined && (offline || isFresh(key) || !CHANGING.includes(path))) return;
    const stop = new AbortController();
    ask(path, values, stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return;
        held.current = { key, data };
        redraw(0);
      },
      (error) => {
        if (stop.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, String(error));
        held.current = { key, data: held.current.key === key ? held.current.data : undefined, error: failure };
        redraw(0);
      },
    );
    return () => stop.abort();
  }, [key, changed]);
  const mine = held.current.key === key;
  if (key === null) return { stale: false };
  return { data: held.current.data, stale: !mine, error: mine ? held.current.error : undefined };
}

/** Several answers of one kind at once; null asks nothing. Entries are undefined until they are here. */
export function useAnswers<P extends Endpoint>(path: P, list: Values[] | null): (Answers[P] | ApiError | undefined)[] {
  const keys = (list ?? []).map((values) => request(path, values));
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const failed = useRef(new Map<string, ApiError>());
  useEffect(() => {
    const stop = new AbortController();
    (list ?? []).forEach((values, i) => {
      if (peek(keys[i]) !== undefined) return;
      ask(path, values, stop.signal).then(
        () => stop.signal.aborted || redraw(0),
        (error) => {
          if (stop.signal.aborted) return;
          failed.current.set(keys[i], error instanceof ApiError ? error : new ApiError(0, String(error)));
          redraw(0);
        },
      );
    });
    return () => stop.abort();
  }, [keys.join("\n")]);
  return keys.map((key) => peek<Answers[P]>(key) ?? failed.current.get(key));
}
