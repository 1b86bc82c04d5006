// Who blocked whom: the tree at one moment, roots over the time range.

import { Failure, Pending } from "../parts";
import type { Run, TableData } from "../payload";
import { useAnswer } from "../api";
import { clock, duration } from "../units";
import { rounded } from "../zoomlink";
import { Asked, useRanged } from "./ranged";
import type { Looked } from "./state";
import { Step } from "./step";

/** The interval that a moment is in, seconds: locks are read each second at most. A little more, as intervals are not exact. */
const around = (at: number, run: Run): [number, number] => rounded([Math.max(0, at - 1.1 * Math.max(1, run.interval_s ?? 1)), at]);

export interface Waiting {
  session: string;
  above: string | null;
  root: string;
  server: string;
  said: string[];
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
    const said = [
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
      said: said.filter((s): s is string => !!s),
      statement: text(row, "statement") ?? "",
      below: [],
    };
  });
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

export function Blocking({ run, state }: { run: Run; state: Looked }) {
  return (
    <section id="section-blocking">
      <h2>Blocking</h2>
      <div class="panels">
        <Asked
          question="db-blocking-over-time"
          run={run}
          about="A click on the chart, or Enter at the pointer, shows the tree of that moment."
        />
        <TreePanel run={run} state={state} />
        <Asked question="db-blocking" run={run} wide title="Which sessions held up others the longest?" />
      </div>
    </section>
  );
}

function TreePanel({ run, state }: { run: Run; state: Looked }) {
  const params = state.server ? { "p.server": state.server } : {};
  const { at } = state;
  const worst = useRanged(at === null ? "db-blocking-tree" : null, run, params);
  const [from, to] = around(at ?? 0, run);
  const chosen = useAnswer("panel", at === null ? null : { question: "db-blocking-tree", run: [run.id], from, to, ...params });
  const { data, error, stale } = at === null ? worst : chosen;
  const table = data?.quiet ? undefined : data?.table;
  const found = table?.rows[0]?.[table.columns.findIndex((c) => c.name === "at_s")];
  const when = typeof found === "number" ? ` (${clock(found)})` : "";
  return (
    <article class="panel" id="panel-db-blocking-tree" aria-busy={stale && !error ? "true" : undefined}>
      <div class="panel-head">
        <h3>{at === null ? `Who waited behind whom at the worst moment${when}?` : `Who waited behind whom at ${clock(at)}?`}</h3>
        {at !== null && (
          <Step class="plain" to={{ at: null }}>
            Show the worst moment
          </Step>
        )}
      </div>
      {error ? (
        <Failure error={error} />
      ) : data?.error ? (
        <p class="error">{data.error}</p>
      ) : !data ? (
        <Pending what="Asking who waited" />
      ) : table ? (
        <Trees all={trees(table)} />
      ) : (
        <p class="quiet">
          {at === null ? "Nobody was seen waiting for a lock in this time range." : "Nobody was seen waiting for a lock at this moment."}
        </p>
      )}
    </article>
  );
}

function Trees({ all }: { all: Waiting[] }) {
  return (
    <ul class="block-tree">
      {all.map((node) => (
        <Node key={`${node.server} ${node.session}`} node={node} />
      ))}
    </ul>
  );
}

function Node({ node }: { node: Waiting }) {
  const count = behind(node);
  return (
    <li>
      <div class="block-node">
        <Step class="block-session" to={{ session: node.session, below: "process" }} title="Show only this session">
          {node.session === "0" ? "prepared transaction" : node.session}
        </Step>
        {count > 0 && <span class={node.above === null ? "tag warn" : "tag"}>{`${count} behind it`}</span>}
        <span class="quiet">{node.said.join(" · ")}</span>
        {node.statement && (
          <code class="block-statement" title={node.statement}>
            {node.statement}
          </code>
        )}
      </div>
      {node.below.length > 0 && <Trees all={node.below} />}
    </li>
  );
}
