// Any column of any table over time as a statement: what is chosen, and what may be.

import type { CatalogueTable } from "./api.gen";

/** So many lanes of what comes and goes, those that add up to most. */
const LANES = 48;
/** What is offered first where a run has it: table, column, by. */
const USUAL = [
  ["process", "cpu", "comm"],
  ["cgroup", "cpu", "cgroup"],
  ["cpu", "usr", "cpu"],
  ["disk", "util", "device"],
];
/** How it may be drawn. */
export const DRAWN: [string, string][] = [
  ["heatmap", "heat map"],
  ["line", "lines"],
  ["stacked", "stacked areas"],
];

export interface Choice {
  table: CatalogueTable;
  column: string;
  by: string;
  chart: string;
}

/** Columns of numbers over time. */
export const valuesOf = (table: CatalogueTable) => table.columns.filter((c) => ["gauge", "rate", "percent", "count"].includes(c.kind));

/** What may distinguish lanes: the keys, other labels, and the host. */
export function byOf(table: CatalogueTable, hosts: number): string[] {
  const labels = table.columns.filter((c) => c.kind === "label" && c.name !== "host").map((c) => c.name);
  const all = [...new Set([...table.keys, ...labels])];
  return hosts > 1 || all.length === 0 ? [...all, "host"] : all;
}

/** `TABLE.COLUMN/BY/CHART` of the address; what is missing in it is chosen. */
export function choice(text: string | null, tables: CatalogueTable[], hosts: number): Choice | null {
  const [what = "", by, chart] = (text ?? "").split("/");
  const [name, column] = what.split(".");
  const usual = USUAL.find(([t, c]) => tables.some((table) => table.name === t && valuesOf(table).some((v) => v.name === c)));
  const table = tables.find((t) => t.name === name) ?? tables.find((t) => t.name === usual?.[0]) ?? tables[0];
  if (!table) return null;
  const columns = valuesOf(table);
  const offered = byOf(table, hosts);
  const first = usual?.[0] === table.name ? usual : USUAL.find(([t]) => t === table.name);
  return {
    table,
    column: columns.find((c) => c.name === column)?.name ?? columns.find((c) => c.name === first?.[1])?.name ?? columns[0].name,
    by: offered.find((b) => b === by) ?? offered.find((b) => b === first?.[2]) ?? offered[0],
    chart: DRAWN.some(([word]) => word === chart) ? chart : "heatmap",
  };
}

const quoted = (name: string) => `"${name.replace(/"/g, '""')}"`;

/** The statement of a choice: what rates and shares add up to for each lane, the mean of other values. */
export function statement({ table, column, by }: Pick<Choice, "table" | "column" | "by">): string {
  const { kind } = table.columns.find((c) => c.name === column)!;
  const [value, lane] = [quoted(column), quoted(by)];
  const others = table.keys.filter((k) => k !== by);
  const adds = others.length > 0 && kind !== "gauge";
  const agg = adds ? `sum(${value})` : `avg(${value})`;
  // A row without its key is of all together.
  const where = by === "host" ? table.keys.filter((k) => k === "cpu").map((k) => `${quoted(k)} IS NULL`) : [`${lane} IS NOT NULL`];
  const most =
    table.keys_are === "passing" && by !== "host"
      ? [`${lane} IN (SELECT ${lane} FROM ${table.name} GROUP BY ${lane} ORDER BY sum(${value} * dt) DESC NULLS LAST LIMIT ${LANES})`]
      : [];
  const all = [...where, ...most];
  const named = by === "host" ? "host AS lane" : `CAST(${lane} AS VARCHAR) AS lane`;
  return `SELECT run, host, t, max(dt) AS dt, ${named}, ${agg} AS ${value}
FROM ${table.name}
${all.length > 0 ? `WHERE ${all.join(" AND ")}\n` : ""}GROUP BY run, host, t, lane
ORDER BY run, host, lane, t`;
}
