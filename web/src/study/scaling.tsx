// How a response scales along the numeric factor: speed-up with the fitted laws, efficiency, and the knee.

import { useRef } from "preact/hooks";
import { type CurveLine, type Dot, Scatter } from "../charts/scatter";
import { TakeAway } from "../charts/takeaway";
import { human } from "../units";
import { openRuns } from "./factors";
import { type Curve, type Fit, law, type Report, type Response } from "./types";

const STEPS = 60;

/** Points of a law from the first level to a little beyond the last, over `first`. */
function drawn(fit: Fit, curve: Curve, over: number): [number, number][] {
  const levels = curve.points.map((p) => p.level);
  const [lo, hi] = [Math.min(...levels), Math.max(...levels) * 1.1];
  return Array.from({ length: STEPS + 1 }, (_, i) => {
    const n = lo + ((hi - lo) * i) / STEPS;
    return [n, law(fit, n) / over];
  });
}

export function Scaling({ report, response }: { report: Report; response: Response }) {
  const curves = response.curves.filter((c) => c.points.some((p) => p.speedup !== null) && c.points.length > 1);
  if (curves.length === 0) return null;
  const factor = curves[0].factor;
  return (
    <>
      <h2 id="scaling">{`Scaling with ${factor}`}</h2>
      <div class="panels">
        <SpeedUp report={report} response={response} curves={curves} factor={factor} />
        <Efficiency report={report} response={response} curves={curves} factor={factor} />
      </div>
      {curves.some((c) => c.usl || c.amdahl) && <Laws curves={curves} factor={factor} />}
    </>
  );
}

interface Props {
  report: Report;
  response: Response;
  curves: Curve[];
  factor: string;
}

const names = (curves: Curve[]) => curves.map((c) => c.others || "measured");

function SpeedUp({ report, response, curves, factor }: Props) {
  const chart = useRef<HTMLDivElement>(null);
  const title = `Speed-up with ${factor}`;
  const dots: Dot[] = curves.flatMap((c, series) =>
    c.points.flatMap((p) =>
      p.speedup === null
        ? []
        : [
            {
              x: p.level,
              y: p.speedup,
              series,
              interval: p.speedup_interval,
              name: `${factor} ${p.level}${c.others ? ` · ${c.others}` : ""}`,
              act: openRuns(report, response.cells[p.cell]?.cell ?? ""),
            },
          ],
    ),
  );
  const lines: CurveLine[] = curves.flatMap((c, series): CurveLine[] => {
    const first = Math.min(...c.points.map((p) => p.level));
    return [
      ...(c.usl ? [{ series, points: drawn(c.usl, c, law(c.usl, first)) }] : []),
      ...(c.amdahl ? [{ series, points: drawn(c.amdahl, c, law(c.amdahl, first)), dashed: true }] : []),
    ];
  });
  const most = Math.max(...dots.map((d) => d.x));
  const marks = curves.flatMap((c, series) =>
    c.usl?.knee && c.usl.knee <= most * 1.5 ? [{ x: c.usl.knee, name: `knee ${c.usl.knee.toFixed(1)}`, series }] : [],
  );
  return (
    <article class="panel">
      <div class="panel-head">
        <h3>{title}</h3>
        <TakeAway
          title={title}
          chart={chart}
          rows={() => ({
            head: [factor, "others", "speed-up", "low", "high", "efficiency"],
            rows: curves.flatMap((c) =>
              c.points.map((p) => [
                p.level,
                c.others,
                p.speedup,
                p.speedup_interval?.[0] ?? null,
                p.speedup_interval?.[1] ?? null,
                p.efficiency,
              ]),
            ),
          })}
        />
      </div>
      <p class="about">
        {lines.length > 0
          ? "Solid: Universal Scalability Law; dashed: Amdahl's law; the knee is where throughput per response time is highest."
          : "Relative to the first level, within blocks."}
      </p>
      <div ref={chart}>
        <Scatter
          label={title}
          dots={dots}
          x={{ name: factor, unit: "", levels: true }}
          y={{ name: "speed-up", unit: "" }}
          series={names(curves)}
          curves={lines}
          marks={marks}
          joined={lines.length === 0}
        />
      </div>
    </article>
  );
}

function Efficiency({ report, response, curves, factor }: Props) {
  const chart = useRef<HTMLDivElement>(null);
  const title = `Efficiency with ${factor}`;
  const dots: Dot[] = curves.flatMap((c, series) =>
    c.points.flatMap((p) =>
      p.efficiency === null
        ? []
        : [
            {
              x: p.level,
              y: 100 * p.efficiency,
              series,
              name: `${factor} ${p.level}${c.others ? ` · ${c.others}` : ""}`,
              act: openRuns(report, response.cells[p.cell]?.cell ?? ""),
            },
          ],
    ),
  );
  return (
    <article class="panel">
      <div class="panel-head">
        <h3>{title}</h3>
        <TakeAway title={title} chart={chart} rows={() => ({ head: [factor, "efficiency (%)"], rows: dots.map((d) => [d.x, d.y]) })} />
      </div>
      <p class="about">Speed-up divided by the increase in level: 100% is linear scaling.</p>
      <div ref={chart}>
        <Scatter
          label={title}
          dots={dots}
          x={{ name: factor, unit: "", levels: true }}
          y={{ name: "efficiency", unit: "%" }}
          series={names(curves)}
          joined
        />
      </div>
    </article>
  );
}

function Laws({ curves, factor }: { curves: Curve[]; factor: string }) {
  const range = (r: [number | null, number | null] | null, digits: number) =>
    r ? ` (${r[0]?.toFixed(digits) ?? "?"} … ${r[1]?.toFixed(digits) ?? "no bound"})` : "";
  const fits = curves.flatMap((c) =>
    [
      ["USL", c.usl],
      ["Amdahl", c.amdahl],
    ].flatMap(([name, fit]) => (fit ? [{ name: name as string, fit: fit as Fit, others: c.others }] : [])),
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="fitted scaling models">
      <table>
        <thead>
          <tr>
            {curves.length > 1 && <th>cells</th>}
            <th>model</th>
            <th class="num" title={`Throughput at ${factor} 1`}>
              at 1
            </th>
            <th class="num" title="Serial share of the work (contention)">
              contention α
            </th>
            <th class="num" title="Crosstalk (coherency) cost per pair">
              coherency β
            </th>
            <th class="num">R²</th>
            <th class="num">knee</th>
            <th class="num">peak</th>
          </tr>
        </thead>
        <tbody>
          {fits.map(({ name, fit, others }) => (
            <tr key={`${name} ${others}`}>
              {curves.length > 1 && <td>{others}</td>}
              <td>{name}</td>
              <td class="num">{human(fit.gamma, "")}</td>
              <td class="num">
                {fit.alpha.toFixed(4)}
                <span class="quiet">{range(fit.alpha_interval, 4)}</span>
              </td>
              <td class="num">
                {name === "USL" ? (
                  <>
                    {fit.beta.toFixed(5)}
                    <span class="quiet">{range(fit.beta_interval, 5)}</span>
                  </>
                ) : (
                  "–"
                )}
              </td>
              <td class="num">{fit.r_squared.toFixed(4)}</td>
              <td class="num">
                {fit.knee === null ? (
                  "–"
                ) : (
                  <>
                    {fit.knee.toFixed(1)}
                    <span class="quiet">{range(fit.knee_interval, 1)}</span>
                  </>
                )}
              </td>
              <td class="num">
                {fit.peak === null ? (
                  "–"
                ) : (
                  <>
                    {fit.peak.toFixed(1)}
                    <span class="quiet">{range(fit.peak_interval, 1)}</span>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Latency against throughput: a point for each cell, along the numeric factor. */
export function LatencyThroughput({ report }: { report: Report }) {
  const chart = useRef<HTMLDivElement>(null);
  const throughput = report.responses.find((r) => r.is_throughput);
  const latency = report.responses.find((r) => r.is_latency);
  if (!throughput || !latency) return null;
  const title = `${latency.name} against ${throughput.name}`;
  const curves = throughput.curves.length > 0 ? throughput.curves : [{ others: "", points: throughput.cells.map((_, cell) => ({ cell })) }];
  const dots: Dot[] = curves.flatMap((c, series) =>
    c.points.flatMap((p): Dot[] => {
      const [x, y] = [throughput.cells[p.cell], latency.cells[p.cell]];
      if (x?.mean == null || y?.mean == null) return [];
      return [{ x: x.mean, y: y.mean, series, interval: y.interval, name: x.cell, act: openRuns(report, x.cell) }];
    }),
  );
  if (dots.length < 2) return null;
  return (
    <article class="panel wide">
      <div class="panel-head">
        <h3>{title}</h3>
        <TakeAway
          title={title}
          chart={chart}
          rows={() => ({ head: ["cell", throughput.name, latency.name], rows: dots.map((d) => [d.name, d.x, d.y]) })}
        />
      </div>
      <p class="about">Where latency rises and throughput does not, something is saturated.</p>
      <div ref={chart}>
        <Scatter
          label={title}
          dots={dots}
          x={{ name: throughput.name, unit: throughput.unit }}
          y={{ name: latency.name, unit: latency.unit }}
          series={curves.map((c) => c.others || "cells")}
          joined
        />
      </div>
    </article>
  );
}
