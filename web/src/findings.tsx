// What stands out in the runs, on top of everything: a sentence each, advice, and the way to the evidence.

import { Prose } from "./parts";
import type { Finding, Findings as All, Header, Run, Said } from "./payload";
import { plural } from "./units";

const WORDS: Record<string, string> = { critical: "critical", warning: "warning", info: "note" };

export function Findings({ all, panels, runs }: { all: All; panels: Header[]; runs: Run[] }) {
  const loud = all.found.filter((f) => f.severity !== "info");
  const quiet = all.found.filter((f) => f.severity === "info");
  const rows = (some: Finding[]) => some.map((f) => <Row key={f.id} finding={f} panels={panels} runs={runs} />);
  return (
    <section id="section-findings">
      <h2>Findings</h2>
      {loud.length > 0 && <ul class="findings">{rows(loud)}</ul>}
      {loud.length === 0 && (
        <p class="quiet">
          <Prose text={`No problems found by ${plural(all.looked, "rule")}; \`fenxi findings --all\` lists them.`} />
        </p>
      )}
      {quiet.length > 0 && (
        <details class="nothing">
          <summary>{`Notes: ${quiet.map((f) => f.title).join("; ")}`}</summary>
          <ul class="findings">{rows(quiet)}</ul>
        </details>
      )}
    </section>
  );
}

function Row({ finding, panels, runs }: { finding: Finding; panels: Header[]; runs: Run[] }) {
  const evidence = panels.find((p) => p.id === finding.ask);
  return (
    <li class={`finding ${finding.severity}`} id={`finding-${finding.id}`}>
      <h3>
        <span class={`severity ${finding.severity}`}>{WORDS[finding.severity] ?? finding.severity}</span>
        {finding.title}
        {finding.own && <span class="tag">own rule</span>}
      </h3>
      {finding.error && (
        <p class="error" role="alert">
          {finding.error}
        </p>
      )}
      {finding.said.map((said, i) => (
        <p class="said" key={i}>
          <Prose text={`${lead(finding, said, runs)}${said.text}`} />
        </p>
      ))}
      {finding.more > 0 && <p class="quiet">{`and ${finding.more} more like it`}</p>}
      <p class="about">
        <Prose text={finding.advice} />
        {evidence && <a class="evidence" href={`#panel-${evidence.id}`}>{`Evidence: ${evidence.title}`}</a>}
      </p>
    </li>
  );
}

/** Where it was, as far as that is not the same everywhere. */
function lead(finding: Finding, said: Said, runs: Run[]): string {
  const run = runs.length > 1 ? runs[said.run]?.name : undefined;
  const host = finding.said.some((s) => s.host !== said.host) ? said.host : undefined;
  const where = [run, host].filter(Boolean).join(" ");
  return where ? `${where}: ` : "";
}
