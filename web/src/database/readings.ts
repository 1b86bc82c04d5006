// What servers are seen doing as they work: readings of the last minutes, and what lists and trees need of them.

import { partOf } from "../activity";
import type { LiveData, Stream } from "../live/data";
import { duration } from "../units";
import { type Dimension, type Filters, narrowedBy } from "./state";
import { nameOf, type Top } from "./toplist";
import { plant, type Waiting } from "./trees";

/** Readings that are kept of each server. */
const KEPT = 900;
/** Series of a chart; the rest is one more. */
const CHARTED = 11;
/** Rows of a list. */
const LISTED = 10;
const OTHERS = "all others";

/** A session in one state, and the mean number of sessions that it was. */
export interface Share {
  session: number;
  class: string;
  event: string;
  statement: string | null;
  pid: number | null;
  user: string | null;
  application: string | null;
  client: string | null;
  database: string | null;
  sessions: number;
}

/** A session that waits for another one. */
export interface Lock {
  waiter: number;
  blocker: number;
  root: number;
  depth: number | null;
  direct: boolean;
  lock: string | null;
  mode: string | null;
  relation: string | null;
  waited_s: number | null;
  application: string | null;
  statement: string | null;
  blocker_state: string | null;
  blocker_transaction_age_s: number | null;
  blocker_application: string | null;
  blocker_statement: string | null;
}

export interface Reading {
  dt: number;
  vendor: string;
  version: string;
  cpus: number | null;
  classes: Record<string, number>;
  figures: Record<string, number>;
  sessions: Share[];
  left_out: number;
  locks: Lock[];
  texts: Record<string, string>;
  notes: string[];
}

/** What comes of one server: a reading, or why there is none. */
export interface ServerReading {
  server: string;
  t_ms: number;
  trouble?: string;
  reading?: Reading;
}

/** A reading and its moment, seconds since the epoch. */
export type TimedReading = Reading & { t: number };

export interface Watched {
  server: string;
  readings: TimedReading[];
  texts: Map<string, string>;
  trouble: string | null;
}

export function takeAll(servers: Map<string, Watched>, batch: ServerReading[]): void {
  for (const { server, t_ms, trouble, reading } of batch) {
    const watched = servers.get(server) ?? { server, readings: [], texts: new Map<string, string>(), trouble: null };
    servers.set(server, watched);
    watched.trouble = trouble ?? null;
    if (!reading) continue;
    for (const [digest, text] of Object.entries(reading.texts)) watched.texts.set(digest, text);
    watched.readings.push({ ...reading, t: t_ms / 1000 });
    if (watched.readings.length > KEPT) watched.readings.shift();
  }
}

/** What distinguishes sessions, as in the address. */
function of(share: Share, by: Dimension): string {
  const value = share[by];
  return value === null || value === "" ? "(none)" : String(value);
}

const fits = (share: Share, filters: Filters) => Object.entries(filters).every(([by, value]) => of(share, by as Dimension) === value);

/** Whether it is work that a client waits for, or what was asked for. */
const counts = (share: Share, filters: Filters) => share.class !== "idle in transaction" || filters.class === share.class;

/** The order in which classes are stacked: what is the machine's below, what is the program's above. */
const ORDER = [
  "cpu",
  "run queue",
  "user io",
  "system io",
  "commit",
  "concurrency",
  "lock",
  "ipc",
  "client",
  "timeout",
  "extension",
  "replication",
  "other",
  "idle in transaction",
];

/** Mean sessions of one reading, by what they are told apart by. Classes of all sessions are as measured best; else they are from samples. */
function sums(reading: TimedReading, by: Dimension, filters: Filters): Map<string, number> {
  const all = by === "class" && Object.keys(filters).length === 0;
  if (all) return new Map(Object.entries(reading.classes));
  const found = new Map<string, number>();
  for (const share of reading.sessions)
    if (fits(share, filters) && counts(share, filters)) found.set(of(share, by), (found.get(of(share, by)) ?? 0) + share.sessions);
  return found;
}

/** A chart of active sessions: its times, and series in the order in which they are stacked. */
export function chartOf(watched: Watched, by: Dimension, filters: Filters): { data: LiveData; streams: Stream[]; ids: string[] } {
  const each = watched.readings.map((reading) => sums(reading, by, filters));
  const total = new Map<string, number>();
  for (const one of each) for (const [id, n] of one) total.set(id, (total.get(id) ?? 0) + n);
  const place = (id: string) => (ORDER.indexOf(id) + ORDER.length + 1) % (ORDER.length + 1);
  const ids = [...total.keys()].sort((a, b) =>
    by === "class" ? place(a) - place(b) : (total.get(b) ?? 0) - (total.get(a) ?? 0) || a.localeCompare(b),
  );
  const many = by !== "class" && ids.length > CHARTED + 1;
  const shown = many ? ids.slice(0, CHARTED) : ids;
  const label = (id: string) => {
    const name = by === "statement" ? (watched.texts.get(id) ?? nameOf(by, id)) : nameOf(by, id);
    return name.length > 60 ? `${name.slice(0, 59)}…` : name;
  };
  const stream = (id: string, values: number[]): Stream => ({ key: id, table: "db_session", column: "sessions", label: label(id), values });
  const streams = shown.map((id) =>
    stream(
      id,
      each.map((one) => one.get(id) ?? 0),
    ),
  );
  if (many) {
    const rest = each.map((one) => [...one].reduce((sum, [id, n]) => sum + (shown.includes(id) ? 0 : n), 0));
    streams.push({ ...stream(OTHERS, rest), label: OTHERS });
  }
  return { data: { times: watched.readings.map((r) => r.t), streams: new Map(), leftOut: 0 }, streams, ids: streams.map((s) => s.key) };
}

/** The readings of a time range, seconds since the epoch. */
export const within = (readings: TimedReading[], [from, to]: [number, number]): TimedReading[] =>
  readings.filter((r) => r.t >= from && r.t - r.dt <= to);

/** The largest of some readings, each split by class of activity. */
export function topsOf(watched: Watched, readings: TimedReading[], by: Dimension, filters: Filters): Top[] {
  const seconds = readings.reduce((sum, r) => sum + r.dt, 0);
  const found = new Map<string, { parts: Map<string, number>; share?: Share }>();
  const add = (id: string, part: string, n: number, share?: Share) => {
    const one = found.get(id) ?? { parts: new Map<string, number>(), share };
    found.set(id, one);
    one.parts.set(part, (one.parts.get(part) ?? 0) + n / seconds);
  };
  const all = by === "class" && !narrowedBy(filters);
  for (const reading of readings) {
    if (all) {
      for (const [name, n] of Object.entries(reading.classes)) if (name !== "idle in transaction") add(name, name, n * reading.dt);
    } else {
      for (const share of reading.sessions)
        if (fits(share, filters) && counts(share, filters)) add(of(share, by), share.class, share.sessions * reading.dt, share);
    }
  }
  const rows = [...found].map(([who, { parts, share }]): Top => {
    const sessions = [...parts.values()].reduce((sum, n) => sum + n, 0);
    const about = share ? [share.user, share.application, share.client, share.pid === null ? null : `process ${share.pid}`] : [];
    return {
      who,
      name: by === "statement" ? (watched.texts.get(who) ?? nameOf(by, who)) : nameOf(by, who),
      more: by === "session" ? about.filter(Boolean).join(" ") : "",
      sessions,
      share: null,
      parts: [...parts]
        .sort((a, b) => ORDER.indexOf(a[0]) - ORDER.indexOf(b[0]))
        .map(([name, n]) => ({ part: partOf(name) ?? "other waits", sessions: n })),
    };
  });
  const sum = rows.reduce((sum, row) => sum + row.sessions, 0);
  return rows
    .filter((row) => row.sessions > 0)
    .map((row) => ({ ...row, share: (100 * row.sessions) / sum }))
    .sort((a, b) => b.sessions - a.sessions || a.who.localeCompare(b.who))
    .slice(0, LISTED);
}

/** The mean of each figure over some readings. */
export function figuresOf(readings: TimedReading[]): [string, number][] {
  const found = new Map<string, [number, number]>();
  for (const { figures, dt } of readings)
    for (const [name, value] of Object.entries(figures)) {
      const [sum, seconds] = found.get(name) ?? [0, 0];
      found.set(name, [sum + value * dt, seconds + dt]);
    }
  const counted = ["deadlocks", "checkpoints"];
  return [...found].map(([name, [sum, seconds]]) => {
    if (counted.includes(name)) return [name, readings.reduce((n, r) => n + (r.figures[name] ?? 0), 0)];
    return [name, seconds > 0 ? sum / seconds : 0];
  });
}

/** The reading in which most sessions waited. */
export const worst = (readings: TimedReading[]): TimedReading | undefined =>
  readings.reduce<TimedReading | undefined>((most, r) => (r.locks.length > (most?.locks.length ?? 0) ? r : most), undefined);

/** Who blocks whom in a reading. */
export function treesOf(watched: Watched, { locks }: Reading): Waiting[] {
  const { server, texts } = watched;
  const text = (digest: string | null) => (digest === null ? "" : (texts.get(digest) ?? ""));
  const present = (parts: (string | null)[]) => parts.filter((s): s is string => !!s);
  // A session that waits for several is listed below one: the holder before those who are only ahead in the queue.
  const waits = new Map<number, Lock>();
  for (const lock of locks) {
    const other = waits.get(lock.waiter);
    if (!other || (lock.direct && !other.direct) || (lock.direct === other.direct && (lock.depth ?? 0) < (other.depth ?? 0)))
      waits.set(lock.waiter, lock);
  }
  const nodes = [...waits.values()].map(
    (lock): Waiting => ({
      session: String(lock.waiter),
      above: String(lock.blocker),
      root: String(lock.root),
      server,
      details: present([
        lock.waited_s === null ? null : `waits for ${duration(lock.waited_s)}`,
        [lock.lock, lock.mode].filter(Boolean).join(" ") && `lock ${[lock.lock, lock.mode].filter(Boolean).join(" ")}`,
        lock.relation && `on ${lock.relation}`,
        lock.application,
      ]),
      statement: text(lock.statement),
      below: [],
    }),
  );
  const roots = new Map(locks.filter((lock) => !waits.has(lock.blocker)).map((lock) => [lock.blocker, lock]));
  for (const [session, lock] of roots)
    nodes.unshift({
      session: String(session),
      above: null,
      root: String(session),
      server,
      details: present([
        lock.blocker_state,
        lock.blocker_transaction_age_s === null ? null : `transaction open for ${duration(lock.blocker_transaction_age_s)}`,
        lock.blocker_application,
      ]),
      statement: text(lock.blocker_statement),
      below: [],
    });
  return plant(nodes);
}
