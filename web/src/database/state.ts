// The state in the address of the page: what distinguishes sessions, which of them are selected, and what is below.

import type { Values } from "../api";

/** What sessions are told apart by, in the order in which one narrows down. */
export const DIMENSIONS = ["class", "event", "statement", "session", "user", "application", "client", "database"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** What follows the session: what the machine did for it. */
export const MACHINE = ["process", "file", "disk"] as const;
export type Below = (typeof MACHINE)[number];

/** What can be chosen of each, as in the address. */
export type Filters = Partial<Record<Dimension, string>>;

export interface Looked {
  by: Dimension;
  filters: Filters;
  server: string | null;
  below: Below | null;
  /** The moment of which the tree of blockers is shown, seconds since the start; null for the worst. */
  at: number | null;
  tab: string | null;
}

/** What an address asks for; what it cannot mean is as if it were not there. */
export function looked(query: URLSearchParams): Looked {
  const one = <T extends string>(name: string, words: readonly T[]) => words.find((word) => word === query.get(name)) ?? null;
  const filters: Filters = {};
  for (const name of DIMENSIONS) {
    const value = query.get(name);
    if (value) filters[name] = value;
  }
  const at = query.get("at");
  return {
    by: one("by", DIMENSIONS) ?? "class",
    filters,
    server: query.get("server") || null,
    below: one("below", MACHINE),
    at: at && Number.isFinite(Number(at)) ? Number(at) : null,
    tab: query.get("tab"),
  };
}

/** What changes in the address when one of a dimension is chosen: it is kept, and the next that is open is told apart. */
export function narrowed(to: Dimension, value: string, { filters }: Looked): Values {
  const chosen = { ...filters, [to]: value };
  const open = DIMENSIONS.slice(0, 4).find((name) => !(name in chosen));
  return { [to]: value, by: open ?? "session", below: to === "session" ? "process" : null };
}

/** The parameters of a question about these sessions. */
export function parameters({ filters, server }: Looked): Values {
  const named = Object.entries(filters).map(([name, value]) => [`p.${name}`, value]);
  return Object.fromEntries(server ? [...named, ["p.server", server]] : named);
}

/** The lists beside each other: what is drawn, then statements and sessions; none of what is chosen already. */
export function listed({ by, filters }: Looked): Dimension[] {
  const all: Dimension[] = [by, "statement", "session"];
  return [...new Set(all)].filter((name) => !(name in filters));
}

/** A part of the page below: questions, and the tables of which one must have rows for them. */
export interface Tab {
  id: string;
  title: string;
  questions: string[];
  tables: string[];
}

const tab = (id: string, title: string, tables: string, questions: string): Tab => ({
  id,
  title,
  tables: tables.split(" "),
  questions: questions.split(" ").map((name) => `db-${name}`),
});

export const TABS: readonly Tab[] = [
  tab(
    "statements",
    "Statements",
    "db_statement db_session",
    "statements statements-by statements-over-time statement statement-waits statements-running statement-inside per-statement-cost pings",
  ),
  tab("time", "Time and waits", "db_wait db", "time time-per-transaction unexplained waits waits-over-time load-map throughput"),
  tab("sessions", "Sessions", "db_session db", "sessions session-timeline session-cpu connections long-transactions idle-in-transaction"),
  tab("relations", "Relations", "db_table", "hot-tables full-scans table-cache hot-objects table-disk"),
  tab("indexes", "Indexes", "db_index", "hot-indexes unused-indexes"),
  tab("io", "I/O and log", "db_io db_wal db_checkpoint", "io io-times wal commit checkpoints writers"),
  tab("vacuum", "Vacuum", "db_table", "vacuum freeze"),
  tab("replication", "Replication", "db_replication", "replication"),
  tab("settings", "Settings", "db_setting", "settings"),
  tab("unseen", "What could not be seen", "db", "seen"),
];

interface Held {
  tables: { table: string; rows: number }[];
}

/** Whether a run has anything that a database reported. */
export const hasDatabase = (run: Held): boolean => run.tables.some((t) => /^db(_|$)/.test(t.table) && t.rows > 0);

/** Whether a run has rows in one of these tables. */
export const holds = (run: Held, tables: string[]): boolean => run.tables.some((t) => tables.includes(t.table) && t.rows > 0);

/** Whether anything is chosen. */
export const narrowedBy = (filters: Filters): boolean => Object.keys(filters).length > 0;
