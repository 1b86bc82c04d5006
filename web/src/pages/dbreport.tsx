// The report of a database server: one period, two side by side, or two groups of runs. Every section has an address by
// itself, and can be saved alone. Figures are shown as the report has them: its text and its JSON say the same.

import { useEffect } from "preact/hooks";
import { embedded, lists, offline, useAnswer, type Values } from "../api";
import type { DbReport, ReportLine, ReportSection } from "../api.gen";
import { fileName } from "../charts/export";
import { ServerPicker } from "../database/filters";
import { Asked } from "../database/ranged";
import { looked } from "../database/state";
import "../database/database.css";
import { Empty, Failure, Pending } from "../parts";
import { link } from "../router";
import { useZoomInLink } from "../zoomlink";
import type { Page } from ".";

export const dbreport: Page = { path: "/db-report", View: ReportPage };

/** What the report is asked for, by the address of the page. */
export function reportOf(query: URLSearchParams): Values {
  const { run, section } = lists(query);
  const [against, from, to, server] = ["against", "from", "to", "server"].map((name) => query.get(name));
  return { run, against, from, to, server, section };
}

function ReportPage({ query }: { query: URLSearchParams }) {
  const named = query.getAll("run").join(", ");
  const values = reportOf(query);
  const answer = useAnswer("dbreport", named ? values : null);
  const report = answer.data;
  const title = [named, query.get("against")].filter(Boolean).join(" and ");
  useEffect(() => {
    if (!embedded && named) document.title = `Database report · ${title} · Fenxi`;
  }, [title]);
  const alone = query.has("section");
  const opened = useAnswer("run", named && !offline ? { run: query.getAll("run") } : null).data;
  return (
    <>
      <div class="top">
        <div class="page-head">
          <h1>{`Database report · ${title}`}</h1>
          {!offline && (
            <div class="page-tools">
              {opened && <ServerPicker run={opened.runs[0]} state={looked(query)} />}
              {alone && (
                <a class="plain" href={link("/db-report", { ...values, section: null })}>
                  All sections
                </a>
              )}
              <a class="plain" href={link("/database", { run: query.getAll("run")[0], from: query.get("from"), to: query.get("to") })}>
                Database
              </a>
              <Save values={values} title={title}>
                Save as one file
              </Save>
              <a class="plain" href={link("/api/v1/dbreport", values)}>
                JSON
              </a>
            </div>
          )}
        </div>
        {report && <Heading report={report} />}
      </div>
      <main id="main" tabIndex={-1} class="db-report" aria-busy={answer.stale ? "true" : undefined}>
        {!named && (
          <Empty title="Which run?">
            <p>
              Choose one from <a href="/">the list of runs</a>; its page <em>Database</em> leads here. <code>against</code> in the address
              puts a second one beside it.
            </p>
          </Empty>
        )}
        {answer.error && <Failure error={answer.error} />}
        {named && !report && !answer.error && <Pending what={`Making the report of ${named}`} />}
        {report && !answer.error && <Reported report={report} query={query} alone={alone} />}
      </main>
      <footer>
        {embedded ? `${embedded.generator}. ` : ""}
        {"– is what is not known. % of waits are of DB time. The same as text: "}
        <code>{`fenxi db report ${[query.getAll("run").join(","), query.get("against") ?? ""].filter(Boolean).join(" ")}`}</code>
      </footer>
    </>
  );
}

function Save({ values, title, children }: { values: Values; title: string; children: string }) {
  const page = link("/db-report", values);
  return (
    <a class="plain" href={`/api/v1/report?${new URLSearchParams({ page })}`} download={fileName(`database report ${title}`, "html")}>
      {children}
    </a>
  );
}

function Heading({ report }: { report: DbReport }) {
  return (
    <>
      {report.periods.map((p) => (
        <p class="quiet" key={p.label}>
          {`${p.label ? `${p.label}: ` : ""}${report.server} · ${p.selector} from ${p.start}, ${p.seconds.toFixed(1)} s`}
          {p.runs.length > 1 ? `, ${p.runs.length} runs` : ""}
        </p>
      ))}
      {report.remarks.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </>
  );
}

function Reported({ report, query, alone }: { report: DbReport; query: URLSearchParams; alone: boolean }) {
  const missing = report.known.filter((k) => !report.sections.some((s) => s.id === k.id));
  return (
    <>
      {report.sections.length > 1 && (
        <nav class="sections" aria-label="sections">
          <div class="nav-links">
            {report.sections.map((s) => (
              <a key={s.id} href={`#section-${s.id}`}>
                {s.title}
              </a>
            ))}
          </div>
        </nav>
      )}
      {!alone &&
        report.periods
          .filter((p) => p.runs.length === 1)
          .map((p) => <Activity key={p.label} run={p.runs[0]} label={p.label} server={query.get("server")} query={query} />)}
      {report.sections.map((section) => (
        <SectionTable key={section.id} section={section} report={report} values={reportOf(query)} alone={alone} />
      ))}
      {alone && report.sections.length === 0 && <p class="quiet">The report has no line in this section.</p>}
      {!alone && missing.length > 0 && (
        <p class="quiet">{`Nothing is known of: ${missing.map((k) => k.title.toLowerCase()).join(", ")}.`}</p>
      )}
    </>
  );
}

/** The chart of active sessions of a period. */
function Activity({ run, label, server, query }: { run: string; label: string; server: string | null; query: URLSearchParams }) {
  const opened = useAnswer("run", { run: [run] }).data;
  if (!opened) return <Pending what="Opening the run" />;
  const [one] = opened.runs;
  return (
    <section>
      <Zoomed query={query} duration={one.duration_s} />
      <Asked
        question="db-activity"
        run={one}
        wide
        params={server ? { "p.server": server } : {}}
        title={`Active sessions by class${label ? `, ${label}` : ""}`}
      />
    </section>
  );
}

function Zoomed({ query, duration }: { query: URLSearchParams; duration: number }) {
  useZoomInLink(query, 0, duration);
  return null;
}

interface SectionProps {
  section: ReportSection;
  report: DbReport;
  values: Values;
  alone: boolean;
}

function SectionTable({ section, report, values, alone }: SectionProps) {
  const two = report.periods.length > 1;
  const headings = section.columns.flatMap((c) =>
    two && !c.is_of_all ? report.periods.map((p) => `${c.heading} ${p.label}`) : [c.heading],
  );
  const numbers = headings.map((_, i) => section.lines.some((l) => l.cells.flat()[i]?.value !== undefined));
  const only = section.lines.some((l) => l.only_in);
  const own = { ...values, section: section.id };
  const [question, ...params] = section.question.split(" ");
  const width = section.keys.length + headings.length + (only ? 1 : 0);
  return (
    <section id={`section-${section.id}`}>
      <div class="db-bar">
        <h2>{section.title}</h2>
        {!offline && (
          <div class="page-tools">
            {!alone && (
              <a class="plain" href={link("/db-report", own)}>
                Alone
              </a>
            )}
            <Save values={own} title={`${section.id} ${report.periods.map((p) => p.selector).join(" ")}`}>
              Save
            </Save>
            {question && (
              <a class="plain" href={link("/ask", { question, run: report.periods[0].runs, ...asked(params) })}>
                Ask
              </a>
            )}
          </div>
        )}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={section.title}>
        <table>
          <thead>
            <tr>
              {section.keys.map((key, i) => (
                <th key={i} scope="col">
                  {key}
                </th>
              ))}
              {headings.map((heading, i) => (
                <th key={i} scope="col" class={numbers[i] ? "num" : undefined}>
                  {heading}
                </th>
              ))}
              {only && <th scope="col">only in</th>}
            </tr>
          </thead>
          <tbody>
            {section.lines.map((line, i) => (
              <Line key={i} line={line} only={only} width={width} numbers={numbers} />
            ))}
          </tbody>
        </table>
      </div>
      {section.more > 0 && <p class="quiet">{`and ${section.more} more`}</p>}
    </section>
  );
}

/** `--param by=calls` of a command as parameters of the page that asks. */
const asked = (params: string[]): Values =>
  Object.fromEntries(params.flatMap((p) => (p.includes("=") ? [[`p.${p.slice(0, p.indexOf("="))}`, p.slice(p.indexOf("=") + 1)]] : [])));

function Line({ line, only, width, numbers }: { line: ReportLine; only: boolean; width: number; numbers: boolean[] }) {
  return (
    <>
      <tr>
        {line.keys.map((key, i) => (
          <td key={i}>{key}</td>
        ))}
        {line.cells.flat().map((cell, i) => (
          <td key={i} class={numbers[i] ? "num" : undefined}>
            {cell.shown}
          </td>
        ))}
        {only && <td>{line.only_in ?? ""}</td>}
      </tr>
      {line.text && (
        <tr>
          <td colSpan={width} class="db-statement">
            {line.text}
          </td>
        </tr>
      )}
    </>
  );
}
