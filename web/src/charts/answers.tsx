// Tables as charts: what a question with `chart: flame`, `scatter`, `histogram` or `interval` answers.
//
//   flame      x: the column of folded stacks, y: their samples; series: what is below them, as the program
//   scatter    x, y, series
//   histogram  x: lower bounds, `hi`: upper bounds, y: counts; series; a column `at_s` makes it latency × time
//   interval   x: names or a numeric factor; y: value, low, high; series

import { useMemo } from "preact/hooks";
import type { Panel, TableData } from "../payload";
import { words } from "../units";
import { Flame } from "./flame";
import type { Folded } from "./flame-tree";
import { type Distribution, Histogram } from "./histogram";
import { HistogramMap, type TimedBucket } from "./histmap";
import { Intervals } from "./interval";
import { Response } from "./response";
import { Scatter } from "./scatter";

/** The charts that are made here. */
export const TABLE_CHARTS = ["flame", "scatter", "histogram", "interval"];

type Row = TableData["rows"][number];

/** Reads cells of named columns. */
function reader(table: TableData) {
  const at = (name: string | undefined) => (name === undefined ? -1 : table.columns.findIndex((c) => c.name === name));
  return {
    has: (name: string) => at(name) >= 0,
    unit: (name: string | undefined) => table.columns[at(name)]?.unit ?? "",
    number: (row: Row, name: string | undefined) => {
      const cell = row[at(name)];
      return typeof cell === "number" ? cell : null;
    },
    text: (row: Row, name: string | undefined) => {
      const cell = row[at(name)];
      return cell === null || cell === undefined ? "" : String(cell);
    },
  };
}

/** What distinguishes distributions, flame graphs or lines: the run where there are several, and the series. */
function groups(panel: Panel, table: TableData): Map<string, Row[]> {
  const read = reader(table);
  const out = new Map<string, Row[]>();
  for (const row of table.rows) {
    const name = [read.text(row, panel.series), read.text(row, "run")].filter(Boolean).join(" · ");
    out.set(name, [...(out.get(name) ?? []), row]);
  }
  return out;
}

export function TableChart({ panel, table }: { panel: Panel; table: TableData }) {
  switch (panel.chart) {
    case "flame":
      return <Flames panel={panel} table={table} />;
    case "scatter":
      return <Points panel={panel} table={table} />;
    case "histogram":
      return <Distributions panel={panel} table={table} />;
    default:
      return <Estimates panel={panel} table={table} />;
  }
}

/** The columns of values; where the question names none, the numbers beside the axis. */
function columns(panel: Panel, table: TableData): string[] {
  if (panel.y?.length) return panel.y;
  if (panel.values) return [panel.values];
  const axis = axisOf(panel, table);
  return table.columns.filter((c) => c.numeric && c.name !== axis).map((c) => c.name);
}

/** The column of the axis; where the question names none, the first number of a scatter plot, the first words of others. */
function axisOf(panel: Panel, table: TableData): string {
  const wanted = panel.chart === "scatter";
  return panel.x ?? table.columns.find((c) => c.numeric === wanted && c.name !== "run" && c.name !== panel.series)?.name ?? "";
}

function Flames({ panel, table }: { panel: Panel; table: TableData }) {
  // The same stacks as long as the table is the same, so that what is zoomed stays.
  const all = useMemo(() => stacksOf(panel, table), [table]);
  const [first] = all;
  return (
    <>
      {all.map(([run, stacks], i) => (
        <div key={run}>
          {all.length > 1 && <h4>{i === 0 ? run : `${run}, colour: what it has more or less than ${first[0]}`}</h4>}
          <Flame
            title={`${panel.title} ${run}`}
            stacks={stacks}
            unit={panel.unit || "samples"}
            others={i > 0 ? first[1] : undefined}
            names={i > 0 ? [first[0], run] : undefined}
          />
        </div>
      ))}
    </>
  );
}

/** The stacks of each run, what is below them first. */
function stacksOf(panel: Panel, table: TableData): [string, Folded][] {
  const read = reader(table);
  const [stack, count] = [axisOf(panel, table), columns(panel, table)[0]];
  const byRun = new Map<string, Folded>();
  for (const row of table.rows) {
    const run = read.text(row, "run");
    const frames = [read.text(row, panel.series), read.text(row, stack)].filter(Boolean).join(";");
    const list = byRun.get(run) ?? [];
    list.push([frames, read.number(row, count) ?? 0]);
    byRun.set(run, list);
  }
  return [...byRun];
}

function Points({ panel, table }: { panel: Panel; table: TableData }) {
  const read = reader(table);
  const [x, y] = [axisOf(panel, table), columns(panel, table)[0] ?? ""];
  const all = [...groups(panel, table)];
  const dots = all.flatMap(([name, rows], series) =>
    rows.flatMap((row) => {
      const [px, py] = [read.number(row, x), read.number(row, y)];
      return px === null || py === null ? [] : [{ x: px, y: py, series, name: name || panel.title }];
    }),
  );
  if (dots.length === 0) return <p class="quiet">There are no points.</p>;
  return (
    <Scatter
      label={panel.title}
      dots={dots}
      x={{ name: words(x, read.unit(x)), unit: read.unit(x), free: true }}
      y={{ name: words(y, read.unit(y)), unit: read.unit(y) || panel.unit }}
      series={all.map(([name]) => name)}
    />
  );
}

function Distributions({ panel, table }: { panel: Panel; table: TableData }) {
  const read = reader(table);
  const [lo, count] = [panel.x ?? "lo", panel.y?.[0] ?? panel.values ?? "count"];
  const bucket = (row: Row) => ({ lo: read.number(row, lo) ?? 0, hi: read.number(row, "hi"), count: read.number(row, count) ?? 0 });
  const all = [...groups(panel, table)];
  const unitOf = (rows: Row[]) => (read.has("unit") ? read.text(rows[0], "unit") : read.unit(lo) || panel.unit);
  if (read.has("at_s")) {
    return (
      <>
        {all.map(([name, rows]) => (
          <div key={name}>
            {all.length > 1 && <h4>{name}</h4>}
            <HistogramMap
              label={`${panel.title} ${name}`}
              unit={unitOf(rows)}
              buckets={rows.map((row): TimedBucket => ({ ...bucket(row), t: read.number(row, "at_s") ?? 0 }))}
            />
          </div>
        ))}
      </>
    );
  }
  // Distributions of different things share no axis.
  const byUnit = new Map<string, Distribution[]>();
  for (const [name, rows] of all) {
    const own = unitOf(rows);
    byUnit.set(own, [...(byUnit.get(own) ?? []), { name: name || "all", buckets: rows.map(bucket) }]);
  }
  return (
    <>
      {[...byUnit].map(([own, list]) => (
        <Histogram key={own} label={panel.title} all={list} unit={own} />
      ))}
    </>
  );
}

function Estimates({ panel, table }: { panel: Panel; table: TableData }) {
  const read = reader(table);
  const x = axisOf(panel, table);
  const [value, low, high] = columns(panel, table);
  const interval = (row: Row): [number, number] | null => {
    const [l, h] = [read.number(row, low), read.number(row, high)];
    return l === null || h === null ? null : [l, h];
  };
  const unit = read.unit(value) || panel.unit;
  const numeric = table.columns.find((c) => c.name === x)?.numeric;
  const all = [...groups(panel, table)];
  if (!numeric) {
    const rows = all.flatMap(([name, list], kind) =>
      list.map((row) => ({
        name: [read.text(row, x), name].filter(Boolean).join(" · "),
        value: read.number(row, value),
        interval: interval(row),
        kind,
      })),
    );
    return <Intervals label={panel.title} rows={rows} unit={unit} />;
  }
  const levels = [...new Set(table.rows.map((row) => read.number(row, x)).filter((v) => v !== null))].sort((a, b) => a - b);
  const lines = all.map(([name, rows]) => ({
    name,
    points: rows.flatMap((row) => {
      const [at, v] = [read.number(row, x), read.number(row, value)];
      return at === null || v === null ? [] : [{ level: levels.indexOf(at), value: v, interval: interval(row) }];
    }),
  }));
  return (
    <Response label={panel.title} factor={words(x)} levels={levels.map(String)} response={words(value, unit)} unit={unit} lines={lines} />
  );
}
