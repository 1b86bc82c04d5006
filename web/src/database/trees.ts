// Who blocks whom, as trees.

import type { TableData } from "../payload";
import { duration } from "../units";

export interface Waiting {
  session: string;
  above: string | null;
  root: string;
  server: string;
  details: string[];
  statement: string;
  below: Waiting[];
}

/** The trees of an answer of `db-blocking-tree`. A session whose blocker is not in it, as in a deadlock, begins a tree. */
export function trees(table: TableData): Waiting[] {
  const cell = (row: TableData["rows"][number], name: string) => row[table.columns.findIndex((c) => c.name === name)] ?? null;
  const text = (row: TableData["rows"][number], name: string) => (cell(row, name) === null ? null : String(cell(row, name)));
  const seconds = (row: TableData["rows"][number], name: string, before: string) => {
    const value = cell(row, name);
    return typeof value === "number" ? `${before} ${duration(value)}` : null;
  };
  const all = table.rows.map((row): Waiting => {
    const lock = [text(row, "lock"), text(row, "wanted")].filter(Boolean).join(" ");
    const details = [
      text(row, "state") === "waiting" ? null : text(row, "state"),
      seconds(row, "transaction_age_s", "transaction open for"),
      seconds(row, "waited_s", "waits for"),
      lock && `lock ${lock}`,
      text(row, "relation") && `on ${text(row, "relation")}`,
      text(row, "application"),
    ];
    return {
      session: text(row, "session") ?? "",
      above: text(row, "waits_for"),
      root: text(row, "root") ?? "",
      server: text(row, "server") ?? "",
      details: details.filter((s): s is string => !!s),
      statement: text(row, "statement") ?? "",
      below: [],
    };
  });
  return plant(all);
}

/** Puts each below the session that it waits for. */
export function plant(all: Waiting[]): Waiting[] {
  const key = (server: string, session: string) => `${server} ${session}`;
  const nodes = new Map(all.map((node) => [key(node.server, node.session), node]));
  const top: Waiting[] = [];
  for (const node of all) {
    const above = node.above === null ? undefined : nodes.get(key(node.server, node.above));
    if (above && !leads(above, node, nodes, key)) above.below.push(node);
    else top.push(node);
  }
  return top;
}

/** Whether one comes from `above` to `node` by going up: then it is a cycle, which is opened there. */
function leads(above: Waiting, node: Waiting, nodes: Map<string, Waiting>, key: (server: string, session: string) => string): boolean {
  const seen = new Set<Waiting>();
  let at: Waiting | undefined = above;
  while (at && !seen.has(at)) {
    if (at === node) return true;
    seen.add(at);
    at = at.above === null ? undefined : nodes.get(key(at.server, at.above));
  }
  return false;
}

/** How many wait behind a session. */
export const behind = (node: Waiting): number => node.below.reduce((sum, other) => sum + 1 + behind(other), 0);
