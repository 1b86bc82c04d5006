// Facts that are one thing in A and another in B, as a text difference.

import { useMemo, useState } from "preact/hooks";
import type { FactDiff } from "./types";
import { plural } from "../units";

const FIRST = 30;
const SAID = { "-": "only in A: ", "+": "only in B: ", "=": "" } as const;

export function Facts({ facts }: { facts: FactDiff[] }) {
  const [all, setAll] = useState(false);
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase();
  const found = useMemo(
    () => facts.filter((f) => `${f.topic} ${f.name} ${f.values.join(" ")}`.toLowerCase().includes(wanted)),
    [facts, wanted],
  );
  const shown = all ? found : found.slice(0, FIRST);
  return (
    <section id="section-facts">
      <h2>Facts that differ</h2>
      {facts.length === 0 && <p class="quiet">All facts about the systems are the same in both groups.</p>}
      {facts.length > 8 && (
        <input
          class="table-search"
          type="search"
          placeholder={`find in ${plural(facts.length, "fact")}`}
          aria-label="find facts"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
      )}
      <div class="facts">
        {shown.map((f) => (
          <article class="fact-diff" key={`${f.topic} ${f.name}`}>
            <h3>
              <span class="quiet">{f.topic}</span> {f.name}
            </h3>
            <Difference fact={f} />
          </article>
        ))}
      </div>
      {found.length > FIRST && (
        <button type="button" class="plain" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST}` : `Show all ${found.length} facts`}
        </button>
      )}
    </section>
  );
}

function Difference({ fact }: { fact: FactDiff }) {
  const lines =
    fact.lines.length > 0 ? fact.lines : fact.values.flatMap((v, i) => (v === null ? [] : [{ op: i === 0 ? "-" : "+", text: v } as const]));
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label={`difference of ${fact.name}`}>
      {lines.map((line, i) => (
        <div key={i} class={line.op === "-" ? "gone" : line.op === "+" ? "come" : "both"}>
          <span class="unseen">{SAID[line.op]}</span>
          <span aria-hidden="true">{`${line.op === "=" ? " " : line.op} `}</span>
          {line.text}
        </div>
      ))}
    </pre>
  );
}
