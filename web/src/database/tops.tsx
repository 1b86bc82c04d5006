// The largest statements, sessions and so on of the time range, each with a bar that is split by class of activity.

import { paint } from "../activity";
import { Failure, Pending } from "../parts";
import type { Panel, Run } from "../payload";
import { theme, useShared } from "../shared";
import { human, plain } from "../units";
import { useRanged } from "./ranged";
import { type Dimension, type Looked, listed, narrowed, parameters } from "./state";
import { Step } from "./step";
import { type Top, tops } from "./toplist";

export const TITLES: Record<Dimension, string> = {
  class: "Classes",
  event: "Wait events",
  statement: "Statements",
  session: "Sessions",
  user: "Users",
  application: "Applications",
  client: "Clients",
  database: "Databases",
};

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
  if (panel.error)
    return (
      <p class="error" role="alert">
        {panel.error}
      </p>
    );
  if (!panel.table || panel.quiet) return <p class="quiet">No sample of a session at work in this time range.</p>;
  return <TopRows rows={tops(panel.table, by)} by={by} state={state} />;
}

/** A list of the largest, each a step down. */
export function TopRows({ rows, by, state }: { rows: Top[]; by: Dimension; state: Looked }) {
  useShared(theme);
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
            {plain(row.sessions, "")}
            {row.share !== null && <span class="quiet"> {plain(row.share, "%")}</span>}
          </span>
          <Split row={row} most={most} />
        </li>
      ))}
    </ol>
  );
}

function Split({ row, most }: { row: Top; most: number }) {
  const summary = row.parts.map((p) => `${p.part} ${human(p.sessions, "")}`).join(", ");
  return (
    <span class="top-bar" role="img" aria-label={summary || "no class"} title={summary}>
      {row.parts.map((p) => (
        <span key={p.part} style={{ width: `${(100 * p.sessions) / most}%`, background: paint(p.part) }} />
      ))}
    </span>
  );
}
