// The cells of a study as a table: what each came to, which is best and which do not differ from it; interactions,
// runs far off, and runs that failed.

import { useState } from "preact/hooks";
import { offline } from "../api";
import { TakeAway } from "../charts/takeaway";
import { LongCell } from "../parts";
import { link } from "../router";
import { human, plural } from "../units";
import { factorsOf, levelsOf, type Report, type Response, runsOf } from "./types";

type Standing = { word: string; class: string; title: string };

function standing(response: Response, cell: string): Standing | null {
  const best = response.best;
  if (!best) return null;
  if (best.cell === cell) return { word: "★ best", class: "better", title: "The best mean of all cells" };
  const p = best.as_good.find(([name]) => name === cell)?.[1];
  if (p !== undefined) return { word: "≈ as good", class: "better", title: `Not significantly different from the best: p ${p.toFixed(3)}` };
  if (best.unknown.includes(cell)) return { word: "? unknown", class: "unclear", title: "Too few runs to compare with the best" };
  return null;
}

export function Cells({ report, response }: { report: Report; response: Response }) {
  const [sort, setSort] = useState<{ by: string; down: boolean } | null>(null);
  const factors = factorsOf(response);
  const cpu = response.cells.some((c) => c.machine_cpu_s !== null);
  const unit = response.cells.some((c) => c.cpu_s_per_unit !== null);
  const rows = response.cells.map((c) => ({ c, levels: levelsOf(c.cell) }));
  if (sort) {
    const value = (r: (typeof rows)[number]): string | number => (sort.by === "mean" ? (r.c.mean ?? NaN) : (r.levels.get(sort.by) ?? ""));
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return sort.down ? -order : order;
    });
  }
  const head = (by: string, numeric: boolean) => (
    <th key={by} class={numeric ? "num" : ""} aria-sort={sort?.by === by ? (sort.down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => setSort({ by, down: sort?.by === by ? !sort.down : numeric })}>
        {by === "mean" ? response.name : by}
        {sort?.by === by ? (sort.down ? " ▾" : " ▴") : ""}
      </button>
    </th>
  );
  const sheet = () => ({
    head: ["cell", "runs", response.name, "low", "high", "command CPU (s)", "machine CPU (s)", "CPU per unit (s)", "standing"],
    rows: rows.map(({ c }) => [
      c.cell,
      c.n,
      c.mean,
      c.interval?.[0] ?? null,
      c.interval?.[1] ?? null,
      c.command_cpu_s,
      c.machine_cpu_s,
      c.cpu_s_per_unit,
      standing(response, c.cell)?.word ?? "",
    ]),
  });
  const found = response.best;
  return (
    <>
      <div class="panel-head">
        {found ? (
          <p class="about">{`Best of ${plural(response.cells.length, "cell")}: ${found.cell} with ${human(found.mean, response.unit)}. ${found.as_good.length > 0 ? `${plural(found.as_good.length, "other cell")} ${found.as_good.length === 1 ? "does" : "do"} not differ significantly from it.` : "It differs significantly from every other cell."}${found.is_pooled ? " The test pools the runs of all cells, as each has too few of its own." : ""}`}</p>
        ) : (
          <p class="about">
            {response.better === "neither" ? "This response has no better direction." : "Too few runs to name a best cell."}
          </p>
        )}
        <TakeAway title={`Cells of ${report.study}, ${response.name}`} rows={sheet} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="cells">
        <table class="cells">
          <thead>
            <tr>
              {factors.map((f) => head(f, false))}
              <th class="num">runs</th>
              {head("mean", true)}
              <th class="num">95% interval</th>
              {cpu && (
                <th class="num" title="Mean CPU seconds of the whole machine">
                  machine CPU
                </th>
              )}
              {unit && (
                <th class="num" title="CPU seconds of the machine per unit of work">
                  CPU per unit
                </th>
              )}
              {found && <th>standing</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ c, levels }) => {
              const place = standing(response, c.cell);
              return (
                <tr key={c.cell} class={place?.word.startsWith("★") ? "best" : undefined}>
                  {factors.map((f) => (
                    <td key={f}>{levels.get(f)}</td>
                  ))}
                  <td class="num">
                    {offline ? (
                      c.n
                    ) : (
                      <a href={link("/", { where: runsOf(report.study, c.cell) })} aria-label={`${plural(c.n, "run")} of ${c.cell}`}>
                        {c.n}
                      </a>
                    )}
                  </td>
                  <td class="num strong">{human(c.mean, response.unit)}</td>
                  <td class="num">
                    {c.interval ? `${human(c.interval[0], response.unit)} … ${human(c.interval[1], response.unit)}` : "–"}
                  </td>
                  {cpu && <td class="num">{human(c.machine_cpu_s, "s")}</td>}
                  {unit && <td class="num">{human(c.cpu_s_per_unit, "s")}</td>}
                  {found && (
                    <td>
                      {place && (
                        <span class={`verdict ${place.class}`} title={place.title}>
                          {place.word}
                        </span>
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Interactions({ response }: { response: Response }) {
  const shown = response.interactions;
  return (
    <>
      <h3 class="part-title">Interactions</h3>
      {shown.length === 0 && <p class="quiet">No significant interaction between two factors.</p>}
      <ul class="findings">
        {shown.map((i) => (
          <li class="finding" key={i.factors.join()}>
            <h3>{`The effect of ${i.factors[1]} depends on ${i.factors[0]}`}</h3>
            <p class="message">{`From the first to the last level of ${i.factors[1]} ${response.name} changes ${i.effects.map(([level, ratio]) => `×${ratio.toFixed(2)} at ${i.factors[0]} ${level}`).join(", ")} (p ${i.p < 0.001 ? "< 0.001" : i.p.toFixed(3)}).`}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

const runLink = (run: string) => (offline ? run : <a href={link("/run", { run })}>{run}</a>);

export function Outliers({ response }: { response: Response }) {
  if (response.outliers.length === 0) return null;
  return (
    <>
      <h3 class="part-title">Outliers: runs far from the others of their cell</h3>
      <ul>
        {response.outliers.map((o) => (
          <li key={o.run}>
            {runLink(o.run)}
            {`: ${o.ratio.toFixed(2)} times the median of ${o.cell}, block ${o.block}`}
          </li>
        ))}
      </ul>
    </>
  );
}

export function Failures({ report }: { report: Report }) {
  return (
    <section id="section-failures">
      <h2>Runs that failed</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="runs that failed">
        <table>
          <thead>
            <tr>
              <th>run</th>
              <th class="num">block</th>
              <th>cell</th>
              <th>why</th>
              <th>made later</th>
            </tr>
          </thead>
          <tbody>
            {report.failures.map((f) => (
              <tr key={f.run}>
                <td>{runLink(f.run)}</td>
                <td class="num">{f.block}</td>
                <td>{f.cell}</td>
                <LongCell text={f.why} />
                <td>{f.made_later ? "yes" : "no: the cell lacks it"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
