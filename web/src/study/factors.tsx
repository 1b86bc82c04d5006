// A response against each factor: a point with its interval for each cell, a line for each combination of the others.

import { useRef } from "preact/hooks";
import { offline } from "../api";
import { Intervals } from "../charts/interval";
import { Response as Chart } from "../charts/response";
import { TakeAway } from "../charts/takeaway";
import { go, link } from "../router";
import { factorsOf, levelNames, levelsOf, others, type Cell, type Report, type Response, runsOf } from "./types";

/** More lines than this hide each other: then the factor is shown alone. */
const LINES = 6;

export interface Measure {
  name: string;
  unit: string;
  value: (cell: Cell) => number | null;
  interval?: (cell: Cell) => [number, number] | null;
}

export function measureOf(response: Response): Measure {
  return { name: response.name, unit: response.unit, value: (c) => c.mean, interval: (c) => c.interval };
}

export function openRuns(report: Report, cell: string): (() => void) | undefined {
  return offline ? undefined : () => go(link("/", { where: runsOf(report.study, cell) }));
}

export function Factors({ report, response, measure, title }: { report: Report; response: Response; measure: Measure; title: string }) {
  const factors = factorsOf(response).filter((f) => levelNames(response, f).length > 1);
  if (response.cells.every((c) => measure.value(c) === null)) return null;
  return (
    <div class="panels">
      {factors.map((f) => (
        <Factor key={f} report={report} response={response} measure={measure} factor={f} title={title} wide={factors.length === 1} />
      ))}
    </div>
  );
}

interface FactorProps {
  report: Report;
  response: Response;
  measure: Measure;
  factor: string;
  title: string;
  wide: boolean;
}

function Factor({ report, response, measure, factor, title, wide }: FactorProps) {
  const chart = useRef<HTMLDivElement>(null);
  const levels = levelNames(response, factor);
  const combinations = [...new Set(response.cells.map((c) => others(c.cell, factor)))];
  const heading = `${title} against ${factor}`;
  const alone = combinations.length > LINES;
  const lines = combinations.map((name) => ({
    name,
    points: response.cells
      .filter((c) => others(c.cell, factor) === name)
      .flatMap((c) => {
        const value = measure.value(c);
        return value === null
          ? []
          : [
              {
                level: levels.indexOf(levelsOf(c.cell).get(factor) ?? ""),
                value,
                interval: measure.interval?.(c),
                n: c.n,
                act: openRuns(report, c.cell),
              },
            ];
      }),
  }));
  const effect = response.effects.find((e) => e.factor === factor);
  const rows = () => ({
    head: [factor, "others", measure.name, "low", "high", "runs"],
    rows: lines.flatMap((l) =>
      l.points.map((p) => [levels[p.level], l.name, p.value, p.interval?.[0] ?? null, p.interval?.[1] ?? null, p.n ?? null]),
    ),
  });
  return (
    <article class={wide ? "panel wide" : "panel"}>
      <div class="panel-head">
        <h3>{heading}</h3>
        <TakeAway title={heading} chart={chart} rows={rows} />
      </div>
      <div ref={chart}>
        {alone && effect && measure.name === response.name ? (
          <>
            <p class="about">Geometric means over all levels of the other factors.</p>
            <Chart
              label={heading}
              factor={factor}
              levels={levels}
              response={measure.name}
              unit={measure.unit}
              lines={[
                { name: "", points: effect.levels.map((l) => ({ level: levels.indexOf(l.level), value: l.mean, interval: l.interval })) },
              ]}
            />
          </>
        ) : (
          <Chart
            label={heading}
            factor={factor}
            levels={levels}
            response={measure.name}
            unit={measure.unit}
            lines={alone ? lines.slice(0, LINES) : lines}
          />
        )}
      </div>
    </article>
  );
}

/** By what share each level of a factor differs from its first one, over all others, within blocks. */
export function Effects({ response }: { response: Response }) {
  const chart = useRef<HTMLDivElement>(null);
  if (response.effects.length === 0) return null;
  const share = (ratio: number) => 100 * (ratio - 1);
  const rows = response.effects.flatMap((e, kind) =>
    e.levels.slice(1).map((l) => ({
      name: `${e.factor} ${e.levels[0].level} → ${l.level}`,
      value: share(l.ratio),
      interval: l.ratio_interval && ([share(l.ratio_interval[0]), share(l.ratio_interval[1])] as [number, number]),
      kind,
      note: response.better === "neither" ? undefined : `${response.better} is better`,
    })),
  );
  const title = `Main effects on ${response.name}`;
  return (
    <article class="panel wide">
      <div class="panel-head">
        <h3>{title}</h3>
        <TakeAway
          title={title}
          chart={chart}
          rows={() => ({
            head: ["change", "percent", "low", "high"],
            rows: rows.map((r) => [r.name, r.value, r.interval?.[0] ?? null, r.interval?.[1] ?? null]),
          })}
        />
      </div>
      <p class="about">Change relative to the first level, over all levels of the other factors, compared within blocks.</p>
      <div ref={chart}>
        <Intervals label={title} rows={rows} unit="%" changes />
      </div>
    </article>
  );
}
