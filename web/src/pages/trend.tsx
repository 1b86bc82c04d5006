// A metric over runs: a point for each, levels between the places where it changed, two points to compare. Without a metric
// all results of the runs, each with its latest values and its last change.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { embedded, lists, offline, useAnswer } from "../api";
import type { Trend } from "../api.gen";
import { fileName } from "../charts/export";
import { TakeAway } from "../charts/takeaway";
import { Failure, Pending } from "../parts";
import { go, link, refine } from "../router";
import { useShared, zone } from "../shared";
import { changeOf, Overview, Verdict } from "../trend/overview";
import { Steps } from "../trend/steps";
import { human, moment, plural } from "../units";
import type { Page } from ".";
import "../compare/compare.css";

export const trend: Page = { path: "/trend", title: "Trend", View: TrendPage };

function TrendPage({ query }: { query: URLSearchParams }) {
  const metric = query.get("metric");
  const answer = useAnswer(
    "trend",
    metric ? { metric, where: query.getAll("where"), last: query.get("last"), window: query.get("window") } : null,
  );
  const found = metric ? answer.data : undefined;
  useEffect(() => {
    if (!embedded && metric) document.title = `${metric} over runs · Fenxi`;
  }, [metric]);
  const address = link("/trend", lists(query));
  return (
    <>
      <div class="top">
        <h1>{metric ? `${metric} over runs` : "Results over runs"}</h1>
        {!offline && <Chooser query={query} />}
        {(found || !metric) && !offline && (
          <p class="quiet">
            <a
              href={`/api/v1/report?${new URLSearchParams({ page: address })}`}
              download={fileName(metric ? `trend ${metric}` : "results over runs", "html")}
            >
              Save as one file
            </a>
          </p>
        )}
      </div>
      <main id="main" tabIndex={-1} aria-busy={answer.stale ? "true" : undefined}>
        {!metric && <Overview query={query} />}
        {answer.error && <Failure error={answer.error} />}
        {metric && !found && !answer.error && <Pending what={`Loading ${metric}`} />}
        {found && !answer.error && <Followed found={found} query={query} />}
      </main>
      <footer>{embedded ? `${embedded.generator}. ` : ""}A change point is reported at p ≤ 0.05 (permutation test).</footer>
    </>
  );
}

function Chooser({ query }: { query: URLSearchParams }) {
  const metrics = useAnswer("metrics", {}).data;
  const [metric, setMetric] = useState(query.get("metric") ?? "");
  const [where, setWhere] = useState(query.getAll("where").join(", "));
  useEffect(() => setMetric(query.get("metric") ?? ""), [query.get("metric")]);
  const names = useMemo(() => {
    const series = (metrics?.series ?? []).map((s) => ({ name: `${s.table}.${s.column}`, keys: s.keys }));
    // Keys are many: they are offered once their column is typed.
    const keyed = series.filter((s) => metric.startsWith(s.name)).flatMap((s) => s.keys.map((key) => `${s.name}[${key}]`));
    return [...keyed, ...(metrics?.results ?? []), ...series.map((s) => s.name)];
  }, [metrics, metric]);
  const done = () =>
    metric.trim() &&
    refine(
      {
        metric: metric.trim(),
        where: where
          .split(",")
          .map((w) => w.trim())
          .filter(Boolean),
        pick: null,
      },
      true,
    );
  return (
    <form
      class="chooser trend-chooser"
      onSubmit={(e) => {
        e.preventDefault();
        done();
      }}
    >
      <label class="picker">
        <span>metric</span>
        <input
          type="text"
          list="metric-names"
          value={metric}
          placeholder="throughput, cpu.sys, disk.await_ms[device=sda]"
          spellcheck={false}
          onInput={(e) => setMetric(e.currentTarget.value)}
        />
        <datalist id="metric-names">
          {names.slice(0, 1000).map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
      </label>
      <label class="picker">
        <span>only runs with</span>
        <input
          type="text"
          value={where}
          placeholder="branch=main, workload=oltp"
          spellcheck={false}
          onInput={(e) => setWhere(e.currentTarget.value)}
        />
      </label>
      <button type="submit" class="plain main">
        Show trend
      </button>
    </form>
  );
}

function Followed({ found, query }: { found: Trend; query: URLSearchParams }) {
  useShared(zone);
  const chart = useRef<HTMLDivElement>(null);
  const byTime = query.get("by") === "time";
  const picked = query.getAll("pick").filter((id) => found.points.some((p) => p.run === id));
  const pick = (id: string) => refine({ pick: picked.includes(id) ? picked.filter((p) => p !== id) : [...picked.slice(-1), id] });
  const title = `${found.metric} over ${plural(found.points.length, "run")}`;
  const sheet = () => ({
    head: ["run", "name", "start", found.unit ? `${found.metric} (${found.unit})` : found.metric],
    rows: found.points.map((p) => [p.run, p.name, new Date(p.start_ms).toISOString(), p.value]),
  });
  return (
    <>
      <article class="panel wide">
        <div class="panel-head">
          <h2 class="panel-title">{title}</h2>
          <div class="panel-tools">
            <button type="button" class="plain" aria-pressed={byTime} onClick={() => refine({ by: byTime ? null : "time" })}>
              {byTime ? "by order" : "by time"}
            </button>
            <TakeAway title={title} chart={chart} rows={sheet} />
          </div>
        </div>
        <div ref={chart}>
          <Steps found={found} byTime={byTime} picked={picked} onPick={pick} />
        </div>
        <ChangeSummary found={found} />
      </article>
      <Picked found={found} picked={picked} />
      <Points found={found} picked={picked} onPick={pick} />
    </>
  );
}

const MINIMUM = 10;

function ChangeSummary({ found }: { found: Trend }) {
  if (found.points.length < MINIMUM) return <p class="quiet">{`Change detection needs at least ${MINIMUM} runs.`}</p>;
  if (found.changes.length === 0) return <p class="quiet">No significant change point.</p>;
  return (
    <ul class="findings changes">
      {found.changes.map((c) => {
        const first = found.points[c.at];
        return (
          <li key={c.at} class="finding">
            <Verdict is={c.verdict} />
            {`${changeOf(c)} from ${human(c.before, found.unit)} to ${human(c.after, found.unit)}, starting with `}
            {offline ? first.name : <a href={link("/compare", { a: found.points[c.at - 1]?.run, b: first.run })}>{first.name}</a>}
            {`, ${moment(first.start_ms)}`}
          </li>
        );
      })}
    </ul>
  );
}

function Picked({ found, picked }: { found: Trend; picked: string[] }) {
  const name = (id: string) => found.points.find((p) => p.run === id)?.name ?? id;
  if (offline) return null;
  return (
    <p class="picked-runs" aria-live="polite">
      {picked.length === 0 && <span class="quiet">Click a point, or press Enter on it, to pick it: one to open, two to compare.</span>}
      {picked.map((id) => (
        <a key={id} class="plain" href={link("/run", { run: id })}>{`Open ${name(id)}`}</a>
      ))}
      {picked.length === 2 && (
        <button
          type="button"
          class="plain main"
          onClick={() => go(link("/compare", { a: picked[0], b: picked[1] }))}
        >{`Compare ${name(picked[0])} with ${name(picked[1])}`}</button>
      )}
    </p>
  );
}

const FIRST = 20;

function Points({ found, picked, onPick }: { found: Trend; picked: string[]; onPick: (id: string) => void }) {
  const [all, setAll] = useState(false);
  const rows = [...found.points].reverse();
  return (
    <details class="nothing">
      <summary>The runs as a table, the latest first</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="runs">
        <table>
          <thead>
            <tr>
              {!offline && <th>pick</th>}
              <th>run</th>
              <th>start</th>
              <th class="num">{found.metric}</th>
            </tr>
          </thead>
          <tbody>
            {(all ? rows : rows.slice(0, FIRST)).map((p) => (
              <tr key={p.run}>
                {!offline && (
                  <td>
                    <input type="checkbox" aria-label={`pick ${p.name}`} checked={picked.includes(p.run)} onChange={() => onPick(p.run)} />
                  </td>
                )}
                <td>{offline ? p.name : <a href={link("/run", { run: p.run })}>{p.name}</a>}</td>
                <td>{moment(p.start_ms)}</td>
                <td class="num">{human(p.value, found.unit)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > FIRST && (
        <button type="button" class="plain" onClick={() => setAll(!all)}>
          {all ? `Show the latest ${FIRST}` : `Show all ${rows.length}`}
        </button>
      )}
    </details>
  );
}
