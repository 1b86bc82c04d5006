// Any column of any table over time: lanes of a heat map or lines, by host, process, control group or whatever distinguishes rows.

import { useState } from "preact/hooks";
import { offline, useAnswer } from "./api";
import { byOf, choice, DRAWN, statement, valuesOf } from "./lanes";
import { Drawing } from "./panel";
import { Failure, Pending } from "./parts";
import type { Panel, Run } from "./payload";
import { link, refine } from "./router";
import { words } from "./units";

const TITLE = "Any column over time, by host, process, control group …";

export function AnyColumn({ runs, query }: { runs: Run[]; query: URLSearchParams }) {
  const text = query.get("any");
  const [opened, open] = useState(text !== null);
  const catalogue = useAnswer("catalogue", offline || !opened ? null : {}).data;
  const held = new Set(runs.flatMap((r) => r.tables.filter((t) => t.rows > 0).map((t) => t.table)));
  const tables = (catalogue?.tables ?? []).filter((t) => t.shape === "series" && held.has(t.name) && valuesOf(t).length > 0);
  const hosts = Math.max(0, ...runs.map((r) => r.hosts.length));
  const chosen = choice(text, tables, hosts);
  const sql = chosen ? statement(chosen) : "";
  const column = chosen?.table.columns.find((c) => c.name === chosen.column);
  const asked =
    opened && chosen
      ? { sql, chart: chosen.chart, x: "t", y: chosen.column, series: "lane", unit: column?.unit, run: runs.map((r) => r.id) }
      : null;
  const answer = useAnswer("panel", asked);
  if (offline) return null;
  if (!chosen || !column)
    return (
      <section id="section-any">
        <details class="more" onToggle={(e) => e.currentTarget.open && open(true)}>
          <summary>{TITLE}</summary>
          {opened && !catalogue && <Pending what="Reading what the tables mean" />}
          {catalogue && <p class="quiet">No table of this run has values over time.</p>}
        </details>
      </section>
    );
  const pick = (next: Partial<{ table: string; column: string; by: string; chart: string }>) => {
    const all = { table: chosen.table.name, column: chosen.column, by: chosen.by, chart: chosen.chart, ...next };
    refine({ any: next.table ? `${all.table}.//${all.chart}` : `${all.table}.${all.column}/${all.by}/${all.chart}` });
  };
  const select = (label: string, value: string, list: [string, string][], on: (word: string) => void) => (
    <label class="inline">
      {label}{" "}
      <select value={value} onChange={(e) => on(e.currentTarget.value)}>
        {list.map(([word, name]) => (
          <option key={word} value={word}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
  const panel: Panel | undefined = answer.data && {
    ...answer.data,
    id: "any",
    title: `${chosen.table.name}.${chosen.column} by ${chosen.by}`,
  };
  return (
    <section id="section-any">
      <details class="more" open={opened} onToggle={(e) => e.currentTarget.open && open(true)}>
        <summary>{TITLE}</summary>
        <div class="panel wide">
          <div class="filters">
            {select(
              "table",
              chosen.table.name,
              tables.map((t) => [t.name, t.name]),
              (table) => pick({ table }),
            )}
            {select(
              "column",
              chosen.column,
              valuesOf(chosen.table).map((c) => [c.name, words(c.name, c.unit)]),
              (name) => pick({ column: name }),
            )}
            {select(
              "a lane for each",
              chosen.by,
              byOf(chosen.table, hosts).map((b) => [b, b]),
              (by) => pick({ by }),
            )}
            {select("as", chosen.chart, DRAWN, (chart) => pick({ chart }))}
            <a
              href={link("/ask", {
                q: sql,
                chart: chosen.chart,
                x: "t",
                y: chosen.column,
                series: "lane",
                unit: column.unit,
                run: runs.map((r) => r.id),
              })}
            >
              edit
            </a>
          </div>
          <p class="about">{column.doc}</p>
          {answer.error && <Failure error={answer.error} />}
          {asked && !panel && !answer.error && <Pending what="Asking" />}
          {panel && (panel.quiet ? <p class="quiet">No values, or nothing but zeros.</p> : <Drawing panel={panel} runs={runs} />)}
        </div>
      </details>
    </section>
  );
}
