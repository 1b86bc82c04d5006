// A study: every response against every factor with how sure it is, how it scales, and the table of cells.

import { useEffect } from "preact/hooks";
import { embedded, offline, useAnswer } from "../api";
import { fileName } from "../charts/export";
import { Empty, Failure, Pending } from "../parts";
import { link, refine } from "../router";
import { Navigation } from "../sections";
import { Cells, Failures, Interactions, Outliers } from "../study/cells";
import { Effects, Factors, measureOf } from "../study/factors";
import { LatencyThroughput, Scaling } from "../study/scaling";
import { factorsOf, type Report, type Response } from "../study/types";
import type { Page } from ".";
import "../compare/compare.css";
import { plural } from "../units";

export const study: Page = { path: "/study", title: "Studies", View: StudyPage };

function StudyPage({ query }: { query: URLSearchParams }) {
  const name = query.get("name");
  return name ? <OneStudy name={name} query={query} /> : <Studies />;
}

function Studies() {
  const answer = useAnswer("studies", {});
  const all = answer.data?.studies ?? [];
  return (
    <main id="main" tabIndex={-1}>
      <h1>Studies</h1>
      {answer.error && <Failure error={answer.error} />}
      {!answer.data && !answer.error && <Pending what="Looking for studies" />}
      {answer.data && all.length === 0 && (
        <Empty title="There is no study in this store yet">
          <p>
            A study makes the runs of a plan: factors with their levels, each cell once in every block, in random order. Write a plan and
            run
          </p>
          <pre>fenxi study plan.toml</pre>
        </Empty>
      )}
      {all.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="studies">
          <table>
            <thead>
              <tr>
                <th>study</th>
                <th>factors</th>
                <th class="num">finished</th>
                <th class="num">planned</th>
              </tr>
            </thead>
            <tbody>
              {all.map((s) => (
                <tr key={s.name}>
                  <td>{offline ? s.name : <a href={link("/study", { name: s.name })}>{s.name}</a>}</td>
                  <td>{s.factors.join(", ")}</td>
                  <td class="num">{s.finished}</td>
                  <td class="num">{s.planned}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </main>
  );
}

function OneStudy({ name, query }: { name: string; query: URLSearchParams }) {
  const answer = useAnswer("study", { name });
  const report = answer.data;
  useEffect(() => {
    if (!embedded && report) document.title = `${report.study} · Fenxi`;
  }, [report]);
  if (!report)
    return (
      <main id="main" tabIndex={-1}>
        {answer.error ? <Failure error={answer.error} /> : <Pending what={`Reading the study ${name}`} />}
      </main>
    );
  const response = report.responses.find((r) => r.name === query.get("response")) ?? report.responses[0];
  return (
    <>
      <div class="top">
        <h1>{report.study}</h1>
        {report.about && <p class="about">{report.about}</p>}
        <p class="quiet">
          {`${plural(report.cells, "cell")} in ${plural(report.blocks, "block")}, ${report.finished} of ${report.cells * report.blocks} runs finished, random seed ${report.seed}. `}
          {!offline && <a href={link("/", { where: [`study=${report.study}`] })}>List its runs</a>}
          {!offline && " · "}
          {!offline && (
            <a
              href={`/api/v1/report?${new URLSearchParams({ page: link("/study", { name }) })}`}
              download={fileName(`study ${name}`, "html")}
            >
              Save as one file
            </a>
          )}
        </p>
        {report.responses.length > 1 && <Responses all={report.responses} now={response} />}
      </div>
      {response ? (
        <OfResponse report={report} response={response} />
      ) : (
        <main id="main" tabIndex={-1}>
          <Empty title="No run of this study is finished yet" />
        </main>
      )}
      <footer>
        {embedded ? `${embedded.generator}. ` : ""}Intervals are 95% confidence intervals of the mean; the run is the unit of replication.
      </footer>
    </>
  );
}

function Responses({ all, now }: { all: Response[]; now: Response }) {
  return (
    <div class="chips" role="group" aria-label="response">
      {all.map((r) => (
        <button
          key={r.name}
          type="button"
          class="chip"
          aria-pressed={r === now}
          onClick={() => refine({ response: r === all[0] ? null : r.name })}
        >
          {r.name}
        </button>
      ))}
    </div>
  );
}

function OfResponse({ report, response }: { report: Report; response: Response }) {
  const scales = response.curves.some((c) => c.points.length > 1 && c.points.some((p) => p.speedup !== null));
  const sections = [
    { id: "factors", title: "Factors" },
    ...(scales ? [{ id: "scaling", title: "Scaling" }] : []),
    { id: "cells", title: "Cells" },
    { id: "cpu", title: "CPU" },
    ...(report.failures.length > 0 ? [{ id: "failures", title: "Failures" }] : []),
  ];
  const perUnit = response.cells.some((c) => c.cpu_s_per_unit !== null);
  const cost = perUnit
    ? { name: "CPU per unit of work", unit: "s", value: (c: Response["cells"][number]) => c.cpu_s_per_unit }
    : { name: "CPU of the machine per run", unit: "s", value: (c: Response["cells"][number]) => c.machine_cpu_s };
  return (
    <>
      <Navigation sections={sections} />
      <main id="main" tabIndex={-1}>
        <section id="section-factors">
          <h2>{`${response.name}${response.better === "neither" ? "" : `, ${response.better} is better`}`}</h2>
          <Factors report={report} response={response} measure={measureOf(response)} title={response.name} />
          <Effects response={response} />
          {factorsOf(response).length > 1 && <Interactions response={response} />}
          <Outliers response={response} />
        </section>
        {scales && (
          <section id="section-scaling">
            <Scaling report={report} response={response} />
          </section>
        )}
        <section id="section-cells">
          <h2>Cells</h2>
          <Cells report={report} response={response} />
        </section>
        <section id="section-cpu">
          <h2>{perUnit ? "CPU per transaction" : "CPU per run"}</h2>
          <Factors report={report} response={response} measure={cost} title={cost.name} />
          <LatencyThroughput report={report} />
        </section>
        {report.failures.length > 0 && <Failures report={report} />}
      </main>
    </>
  );
}
