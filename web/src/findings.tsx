// What was found in the runs, causes first: a line each, with its figures, advice and the way to the evidence behind it.

import { Prose } from "./parts";
import type { Finding, Findings as All, Header, Occurrence, Run } from "./payload";
import { percent, plural } from "./units";

/** So many stand in sight; the others behind a line. */
const SHOWN = 4;

export function Findings({ all, panels, runs }: { all: All; panels: Header[]; runs: Run[] }) {
  const loud = all.found.filter((f) => f.kind !== "information");
  const quiet = all.found.filter((f) => f.kind === "information");
  const rows = (some: Finding[]) => (
    <ul class="findings">
      {some.map((f) => (
        <Row key={f.id} finding={f} panels={panels} runs={runs} />
      ))}
    </ul>
  );
  const folded = (title: string, some: Finding[]) =>
    some.length > 0 && (
      <details class="nothing">
        <summary>{`${title}: ${some.map((f) => f.title).join("; ")}`}</summary>
        {rows(some)}
      </details>
    );
  return (
    <section id="section-findings">
      <h2>Findings</h2>
      {loud.length > 0 && rows(loud.slice(0, SHOWN))}
      {loud.length === 0 && (
        <p class="quiet">
          <Prose text={`No problems found by ${plural(all.looked, "rule")}; \`fenxi list findings\` lists them.`} />
        </p>
      )}
      {folded(`${loud.length - SHOWN} more`, loud.slice(SHOWN))}
      {folded("Notes", quiet)}
    </section>
  );
}

/** Its role in the search for a cause, as a tag. */
const tag = (f: Finding) => (f.severity === "critical" ? "critical" : f.kind === "information" ? "note" : f.kind);

function Row({ finding, panels, runs }: { finding: Finding; panels: Header[]; runs: Run[] }) {
  const evidence = panels.find((p) => p.id === finding.ask);
  const [first, ...others] = finding.occurrences;
  const prose = (occurrence: Occurrence) => <Prose text={`${lead(finding, occurrence, runs)}${occurrence.message}`} />;
  return (
    <li class={`finding ${finding.severity}`} id={`finding-${finding.id}`}>
      <h3>
        <span class={`severity ${finding.severity}`}>{tag(finding)}</span>
        {finding.title}
        {finding.impact && <span class="impact">{`${percent(finding.impact.share)} of ${finding.impact.of}`}</span>}
        {finding.own && <span class="tag">own rule</span>}
      </h3>
      {finding.error && (
        <p class="error" role="alert">
          {finding.error}
        </p>
      )}
      {first && <p class="message">{prose(first)}</p>}
      <details>
        <summary>what to do</summary>
        {others.map((occurrence, i) => (
          <p class="message" key={i}>
            {prose(occurrence)}
          </p>
        ))}
        {finding.more > 0 && <p class="quiet">{`and ${finding.more} more like it`}</p>}
        <p class="about">
          <Prose text={finding.advice} />
          {evidence && <a class="evidence" href={`#panel-${evidence.id}`}>{`Evidence: ${evidence.title}`}</a>}
        </p>
        {!!finding.follows_from?.length && <p class="about">{`Follows from: ${finding.follows_from.join("; ")}.`}</p>}
      </details>
    </li>
  );
}

/** Where it was, as far as that is not the same everywhere. */
function lead(finding: Finding, occurrence: Occurrence, runs: Run[]): string {
  const run = runs.length > 1 ? runs[occurrence.run]?.name : undefined;
  const several = (runs[occurrence.run]?.hosts.length ?? 0) > 1 || finding.occurrences.some((s) => s.host !== occurrence.host);
  const host = several ? occurrence.host : undefined;
  const where = [run, host].filter(Boolean).join(" ");
  return where ? `${where}: ` : "";
}
