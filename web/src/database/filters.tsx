// By what sessions are told apart, what is chosen of them, and the steps from a class of activity down to a disk.

import { paint, partOf } from "../activity";
import { useAnswer } from "../api";
import type { Run } from "../payload";
import { refine } from "../router";
import { clock } from "../units";
import { useRanged } from "./ranged";
import { type Below, type Dimension, DIMENSIONS, type Looked, MACHINE } from "./state";
import { Step } from "./step";

/** Which dimension the chart shows; those of which one is chosen are left to the chips. */
export function DimensionPicker({ state }: { state: Looked }) {
  return (
    <nav class="dimensions" aria-label="tell sessions apart by">
      <span class="quiet">by</span>
      {DIMENSIONS.map((name) => (
        <Step key={name} to={{ by: name === "class" ? null : name }} current={state.by === name}>
          {name}
        </Step>
      ))}
    </nav>
  );
}

/** What is chosen, each with the way to give it up. */
export function Chips({ run, state }: { run: Run; state: Looked }) {
  return <ChipsOf state={state} text={useStatement(run, state.filters.statement)} />;
}

/** The same, where the text of the statement is known. */
export function ChipsOf({ state, text }: { state: Looked; text: string | null }) {
  const chosen = Object.entries(state.filters) as [Dimension, string][];
  if (chosen.length === 0 && state.at === null) return null;
  const labelOf = (name: Dimension, value: string) =>
    name === "statement" ? (text ?? value) : name === "class" ? (partOf(value) ?? value) : value;
  return (
    <div class="db-chips" role="group" aria-label="shown only">
      {chosen.map(([name, value]) => (
        <Step
          key={name}
          class="chip"
          to={{ [name]: null, ...(name === "session" ? { below: null } : {}) }}
          title={`${name} ${labelOf(name, value)}`}
        >
          {name === "class" && <span class="swatch" style={{ background: paint(partOf(value) ?? "") }} />}
          <span class="chip-text">{`${name}: ${labelOf(name, value)}`}</span>
          <Remove />
        </Step>
      ))}
      {state.at !== null && (
        <Step class="chip" to={{ at: null }}>
          {`blocking at ${clock(state.at)}`}
          <Remove />
        </Step>
      )}
      {chosen.length > 1 && (
        <Step class="plain" to={{ ...Object.fromEntries(DIMENSIONS.map((name) => [name, null])), below: null }}>
          Show all
        </Step>
      )}
    </div>
  );
}

/** What a chip's link does. */
function Remove() {
  return (
    <>
      <span class="unseen">, remove</span>
      <span aria-hidden="true">✕</span>
    </>
  );
}

/** The text of the statement that is chosen. */
function useStatement(run: Run, digest: string | undefined): string | null {
  const answer = useAnswer(
    "panel",
    digest ? { question: "db-top-activity", run: [run.id], "p.by": "statement", "p.statement": digest } : null,
  );
  const table = answer.data?.table;
  const cell = table?.rows[0]?.[table.columns.findIndex((c) => c.name === "description")];
  return typeof cell === "string" ? cell : null;
}

/** From a class down to a disk: each step is an address. */
export function Steps({ state, machine = MACHINE }: { state: Looked; machine?: readonly Below[] }) {
  return (
    <nav class="steps" aria-label="drill down">
      <ol>
        {DIMENSIONS.slice(0, 4).map((name) => (
          <li key={name}>
            <Step
              to={{ by: name, below: null }}
              current={state.by === name && !state.below}
              title={state.filters[name] && `chosen: ${state.filters[name]}`}
            >
              {name in state.filters ? `${name} ✓` : name}
            </Step>
          </li>
        ))}
        {machine.map((name) => (
          <li key={name}>
            <Step to={{ below: name }} current={state.below === name}>
              {name}
            </Step>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Which server, where the run has several. */
export function ServerPicker({ run, state }: { run: Run; state: Looked }) {
  const { data } = useRanged("db-top-activity", run, { "p.by": "server" });
  const place = data?.table?.columns.findIndex((c) => c.name === "who") ?? -1;
  const servers = [...new Set([...(data?.table?.rows ?? []).map((row) => String(row[place])), ...(state.server ? [state.server] : [])])];
  if (servers.length < 2) return null;
  return (
    <label class="inline">
      server{" "}
      <select value={state.server ?? ""} onChange={(e) => refine({ server: e.currentTarget.value || null }, true)}>
        <option value="">all</option>
        {servers.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
