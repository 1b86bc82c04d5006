// The largest statements, sessions and so on, as a list.

import { partOf } from "../activity";
import type { TableData } from "../payload";
import type { Cell } from "../table";
import type { Dimension } from "./state";

/** One of a list: what the address calls it, what is read, and its parts by class, largest last. */
export interface Top {
  who: string;
  name: string;
  more: string;
  sessions: number;
  share: number | null;
  parts: { part: string; sessions: number }[];
}

/** In words, where there is nothing of a kind. */
const NONE: Partial<Record<Dimension, string>> = { event: "no wait: on a CPU, or runnable", statement: "no statement known" };

/** What is read where the address has `id`. */
export const nameOf = (by: Dimension, id: string): string =>
  id === "(none)" ? (NONE[by] ?? "none named") : (by === "class" && partOf(id)) || id;

/** The rows of an answer of `db-top-activity`. */
export function tops(table: TableData, by: Dimension): Top[] {
  const place = (name: string) => table.columns.findIndex((c) => c.name === name);
  const [who, description, sessions, share] = ["who", "description", "active_sessions", "share_pct"].map(place);
  const number = (cell: Cell) => (typeof cell === "number" ? cell : null);
  return table.rows.map((row) => {
    const id = String(row[who] ?? "");
    const about = row[description] === null ? "" : String(row[description]);
    const parts = table.columns.flatMap((c, i) => {
      const [part, value] = [partOf(c.name), number(row[i])];
      return part && value ? [{ part, sessions: value }] : [];
    });
    const named = nameOf(by, id);
    return {
      who: id,
      name: by === "statement" && about ? about : named,
      more: by === "session" ? about : "",
      sessions: number(row[sessions]) ?? 0,
      share: number(row[share]),
      parts,
    };
  });
}
