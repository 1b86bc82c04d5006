// The largest statements, sessions and so on of the time range, each with a bar that is split by class of activity.

import { paint, partOf } from "../activity";
import { Failure, Pending } from "../parts";
import type { Panel, Run, TableData } from "../payload";
import { theme, useShared } from "../shared";
import type { Cell } from "../table";
import { human } from "../units";
import { useRanged } from "./ranged";
import { type Dimension, type Looked, listed, narrowed, parameters } from "./state";
import { Step } from "./step";

const TITLES: Record<Dimension, string> = {
  class: "Classes",
  event: "Wait events",
  statement: "Statements",
  session: "Sessions",
  user: "Users",
  application: "Applications",
  client: "Clients",
  database: "Databases",
};

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

/** The rows of an answer of `db-top-activity`. */
export function tops(table: TableData, by: Dimension): Top[] {
  const place = (name: string) => table.columns.findIndex((c) => c.name === name);
  const [who, description, sessions, share] = ["who", "description", "active_sessions", "share_pct"].map(place);
  const number = (cell: Cell) => (typeof cell === "number" ? cell : null);
  return table.rows.map((row) => {
    const id = String(row[who] ?? "");
    const said = row[description] === null ? "" : String(row[description]);
    const parts = table.columns.flatMap((c, i) => {
      const [part, value] = [partOf(c.name), number(row[i])];
      return part && value ? [{ part, sessions: value }] : [];
    });
    const named = id === "(none)" ? (NONE[by] ?? "none named") : (by === "class" && partOf(id)) || id;
    return {
      who: id,
      name: by === "statement" && said ? said : named,
      more: by === "session" ? said : "",
      sessions: number(row[sessions]) ?? 0,
      share: number(row[share]),
      parts,
    };
  });
}

/** The lists side by side. */
export function Tops({ run, state }: { run: Run; state: Looked }) {
  return (
    <div class="tops">
      {listed(state).map((by) => (
        <TopList key={by} run={run} by={by} state={state} />
      ))}
    </div>
  );
}

function TopList({ run, by, state }: { run: Run; by: Dimension; state: Looked }) {
  const answer = useRanged("db-top-activity", run, { ...parameters(state), "p.by": by });
  const title = `top-${by}`;
  return (
    <section class="panel top-list" aria-labelledby={title} aria-busy={answer.stale && !answer.error ? "true" : undefined}>
      <h3 id={title}>{TITLES[by]}</h3>
      {answer.error ? (
        <Failure error={answer.error} />
      ) : answer.data ? (
        <Rows panel={answer.data} by={by} state={state} />
      ) : (
        <Pending what="Asking who was active" />
      )}
    </section>
  );
}

function Rows({ panel, by, state }: { panel: Panel; by: Dimension; state: Looked }) {
  useShared(theme);
  if (panel.error)
    return (
      <p class="error" role="alert">
        {panel.error}
      </p>
    );
  if (!panel.table || panel.quiet) return <p class="quiet">No sample of a session at work in this time range.</p>;
  const rows = tops(panel.table, by);
  const most = Math.max(...rows.map((r) => r.sessions), 1e-300);
  return (
    <ol class="top-rows">
      {rows.map((row) => (
        <li key={row.who}>
          <Step class="top-name" to={narrowed(by, row.who, state)} title={`${row.name}\nShow only this`}>
            {row.name}
            {row.more && <span class="quiet"> {row.more}</span>}
          </Step>
          <span class="top-value" title="mean active sessions, and their share of all">
            {human(row.sessions, "")}
            {row.share !== null && <span class="quiet"> {human(row.share, "%")}</span>}
          </span>
          <Split row={row} most={most} />
        </li>
      ))}
    </ol>
  );
}

function Split({ row, most }: { row: Top; most: number }) {
  const said = row.parts.map((p) => `${p.part} ${human(p.sessions, "")}`).join(", ");
  return (
    <span class="top-bar" role="img" aria-label={said || "no class"} title={said}>
      {row.parts.map((p) => (
        <span key={p.part} style={{ width: `${(100 * p.sessions) / most}%`, background: paint(p.part) }} />
      ))}
    </span>
  );
}
