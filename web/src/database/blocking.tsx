// Who blocked whom: the tree at one moment, roots over the time range.

import { Failure, Pending } from "../parts";
import type { Run } from "../payload";
import { useAnswer } from "../api";
import { clock } from "../units";
import { rounded } from "../zoomlink";
import { Asked, useRanged } from "./ranged";
import type { Looked } from "./state";
import { Step } from "./step";
import { behind, trees, type Waiting } from "./trees";

/** The interval that a moment is in, seconds: locks are read each second at most. A little more, as intervals are not exact. */
const around = (at: number, run: Run): [number, number] => rounded([Math.max(0, at - 1.1 * Math.max(1, run.interval_s ?? 1)), at]);

export function Blocking({ run, state }: { run: Run; state: Looked }) {
  const params = state.server ? { "p.server": state.server } : {};
  return (
    <section id="section-blocking">
      <h2>Blocking</h2>
      <div class="panels">
        <Asked
          question="db-blocking-over-time"
          run={run}
          params={params}
          about="A click on the chart, or Enter at the pointer, shows the tree of that moment."
        />
        <TreePanel run={run} state={state} />
        <Asked question="db-blocking" run={run} params={params} wide title="Which sessions held up others the longest?" />
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
          {at === null
            ? "No session was seen waiting for a lock in this time range."
            : "No session was seen waiting for a lock at this moment."}
        </p>
      )}
    </article>
  );
}

/** Each session with those that wait for it below it. */
export function Trees({ all }: { all: Waiting[] }) {
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
        <span class="quiet">{node.details.join(" · ")}</span>
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
