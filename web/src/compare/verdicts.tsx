// The verdicts: the runs' own results first, then metrics by resource. Each line has its change with the interval
// as a bar, on one scale, so that the eye finds what moved most.

import { useMemo, useState } from "preact/hooks";
import { TakeAway } from "../charts/takeaway";
import { refine } from "../router";
import { human, plural } from "../units";
import { ChangeBar, scaleOf } from "./changebar";
import { changeText, type Comparison, isNews, type Line, metricName, pText, signOf, type Verdict, VERDICTS } from "./types";

const FIRST = 12;
/** Resources that are not called by the word. */
const NAMES: Record<string, string> = { result: "Load", cpu: "CPU" };

interface Props {
  found: NonNullable<Comparison["comparison"]>;
  query: URLSearchParams;
  margin: number;
}

export function Verdicts({ found, query, margin }: Props) {
  const [search, setSearch] = useState("");
  const only = query.get("verdict") as Verdict | null;
  const resource = query.get("resource");
  const all = query.get("lines") === "all";
  const every = useMemo(() => [...found.results, ...found.metrics], [found]);
  const most = useMemo(() => scaleOf(every, margin), [every, margin]);
  const counts = useMemo(
    () => VERDICTS.map((v) => ({ ...v, n: every.filter((l) => l.verdict === v.verdict).length })).filter((v) => v.n > 0),
    [every],
  );
  const resources = [...new Set(found.metrics.map((l) => l.group))];
  const wanted = search.trim().toLowerCase();
  const fits = (l: Line) =>
    (!only || l.verdict === only) &&
    (!resource || l.group === resource) &&
    (!wanted || `${metricName(l)} ${l.key} ${l.doc}`.toLowerCase().includes(wanted));
  // What was asked for is shown whatever its verdict.
  const quiet = !all && !only && !wanted;
  const results = found.results.filter((l) => (!only || l.verdict === only) && (!wanted || metricName(l).includes(wanted)) && !resource);
  const metrics = found.metrics.filter((l) => fits(l) && (!quiet || isNews(l)));
  const sheet = () => ({
    head: [
      "group",
      "table",
      "key",
      "column",
      "unit",
      "runs A",
      "runs B",
      "mean A",
      "mean B",
      "change",
      "relative",
      "low",
      "high",
      "effect",
      "p",
      "verdict",
    ],
    rows: [...results, ...metrics].map((l) => [
      l.group,
      l.table,
      l.key,
      l.column,
      l.unit,
      ...l.runs,
      ...l.means,
      l.change,
      l.relative,
      l.interval?.[0] ?? null,
      l.interval?.[1] ?? null,
      l.effect,
      l.p,
      l.verdict,
    ]),
  });
  return (
    <section id="section-verdicts">
      <h2>Verdicts</h2>
      {found.insufficient && (
        <p class="finding warning">
          <strong>Too few runs: </strong>
          {`${found.insufficient}. Ranges are shown instead; significance needs at least four runs in each group.`}
        </p>
      )}
      <div class="filters">
        <div class="chips" role="group" aria-label="only one verdict">
          {counts.map((v) => (
            <button
              key={v.verdict}
              type="button"
              class={`chip ${v.verdict.split(" ")[0]}`}
              title={v.about}
              aria-pressed={only === v.verdict}
              onClick={() => refine({ verdict: only === v.verdict ? null : v.verdict })}
            >
              {`${v.sign} ${v.verdict} ${v.n}`}
            </button>
          ))}
        </div>
        {resources.length > 0 && <Resources all={found.metrics} chosen={resource} />}
        <input
          type="search"
          class="wide-search"
          placeholder={`find in ${plural(every.length, "line")}`}
          aria-label="find metrics"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
        {found.metrics.length > 0 && (
          <button type="button" class="plain" aria-pressed={all} onClick={() => refine({ lines: all ? null : "all" })}>
            {all ? "Only what differs" : `Show all ${found.metrics.length} metrics`}
          </button>
        )}
        <TakeAway title="Verdicts" rows={sheet} />
      </div>
      <div>
        {results.length > 0 && <Part title="Results" lines={results} most={most} margin={margin} whole={found.results.length} open />}
        {resources.map((r) => {
          const lines = metrics.filter((l) => l.group === r);
          const whole = found.metrics.filter((l) => l.group === r).length;
          return lines.length > 0 ? <Part key={r} title={NAMES[r] ?? r} lines={lines} most={most} margin={margin} whole={whole} /> : null;
        })}
      </div>
      {results.length + metrics.length === 0 && (
        <p class="quiet">
          {every.length === 0
            ? "The groups have no result and no metric in common."
            : quiet
              ? "No metric differs significantly."
              : "No matching lines."}
        </p>
      )}
    </section>
  );
}

function Resources({ all, chosen }: { all: Line[]; chosen: string | null }) {
  return (
    <label>
      resource{" "}
      <select value={chosen ?? ""} onChange={(e) => refine({ resource: e.currentTarget.value })}>
        <option value="">all</option>
        {[...new Set(all.map((l) => l.group))].map((r) => (
          <option key={r} value={r}>{`${r} (${all.filter((l) => l.group === r).length})`}</option>
        ))}
      </select>
    </label>
  );
}

interface PartProps {
  title: string;
  lines: Line[];
  most: number;
  margin: number;
  whole: number;
  open?: boolean;
}

function Part({ title, lines, most, margin, whole, open }: PartProps) {
  const [all, setAll] = useState(false);
  const shown = all || open ? lines : lines.slice(0, FIRST);
  const count = lines.length === whole ? `${whole}` : `${lines.length} of ${whole}`;
  return (
    <>
      <h3 class="part-title">
        {title} <span class="quiet">{count}</span>
      </h3>
      <div class="scroll" tabIndex={0} role="region" aria-label={`verdicts: ${title}`}>
        <table class="verdicts">
          <thead>
            <tr>
              <th>{open ? "result" : "metric"}</th>
              <th class="num">A</th>
              <th class="num">B</th>
              <th class="num">change</th>
              <th class="bar-head minor" title="The change and its 95% confidence interval; the band is the margin">
                <ChangeBar.Head most={most} />
              </th>
              <th
                class="num minor"
                title="Effect size: Cliff's delta, from −1 (every run of B below every run of A) to 1 (every run above)"
              >
                effect
              </th>
              <th
                class="num minor"
                title="Adjusted p-value: how often a difference this large would occur by chance between groups that do not differ (permutation test), corrected for the number of comparisons"
              >
                adjusted p
              </th>
              <th>verdict</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((l) => (
              <Row key={`${l.table} ${l.column} ${l.key}`} line={l} most={most} margin={margin} />
            ))}
          </tbody>
        </table>
      </div>
      {lines.length > shown.length && (
        <button type="button" class="plain" onClick={() => setAll(true)}>{`Show all ${lines.length}`}</button>
      )}
    </>
  );
}

function Row({ line, most, margin }: { line: Line; most: number; margin: number }) {
  const few = line.verdict === "insufficient runs";
  const range = (side: 0 | 1) => {
    const [lo, hi] = line.ranges[side];
    return lo === hi ? human(lo, line.unit) : `${human(lo, line.unit)} … ${human(hi, line.unit)}`;
  };
  return (
    <tr>
      <th scope="row" title={[line.doc, line.better !== "neither" && `${line.better} is better`].filter(Boolean).join(" ")}>
        {metricName(line)}
        {line.key && <span class="key-of">{line.key.replace(/,/g, ", ")}</span>}
      </th>
      {([0, 1] as const).map((side) => (
        <td key={side} class="num" title={`${plural(line.runs[side], "run")}, ${range(side)}`}>
          {human(line.means[side], line.unit)}
          {few && line.runs[side] > 1 && <span class="range">{range(side)}</span>}
        </td>
      ))}
      <td class="num strong">{line.change === 0 ? "0" : changeText(line, line.change, human)}</td>
      <td class="bar-cell minor">
        <ChangeBar line={line} most={most} margin={margin} />
      </td>
      <td class="num minor">{line.effect.toFixed(2).replace("-", "−")}</td>
      <td class="num minor">{pText(line.p)}</td>
      <td>
        <span class={`verdict ${line.verdict.split(" ")[0]}`}>{`${signOf(line.verdict)} ${line.verdict}`}</span>
      </td>
    </tr>
  );
}
