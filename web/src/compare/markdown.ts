// A comparison as text for an issue or a mail.

import type { Part } from "../api.gen";
import { human } from "../units";
import { changeText, type Comparison, isNews, type Line, metricName, pText, signOf, titles } from "./types";

const cell = (text: string) => text.replace(/\|/g, "\\|").replace(/\s*\n\s*/g, " ");
const row = (cells: string[]) => `| ${cells.map(cell).join(" | ")} |\n`;

function table(head: string[], rows: string[][]): string {
  return row(head) + row(head.map(() => "---")) + rows.map(row).join("");
}

function lines(all: Line[]): string {
  const rows = all.map((l) => [
    [metricName(l), l.key].filter(Boolean).join(" "),
    human(l.means[0], l.unit),
    human(l.means[1], l.unit),
    changeText(l, l.change, human),
    l.interval ? l.interval.map((v) => changeText(l, v, human)).join(" … ") : "–",
    l.effect.toFixed(2),
    pText(l.p),
    `${signOf(l.verdict)} ${l.verdict}`,
  ]);
  return table(["", "A", "B", "change", "95% interval", "effect", "adjusted p", "verdict"], rows);
}

export function markdown(found: Comparison): string {
  const names = (g: Comparison["a"]) => g.runs.map((r) => r.name).join(", ");
  let out = `## ${titles(found).join(" and ")}\n\nA: ${names(found.a)}\n\nB: ${names(found.b)}\n`;
  for (const change of found.changed) out += `\n* Changed: ${change.name} ${change.from ?? "none"} → ${change.to ?? "none"}`;
  for (const reason of found.reasons) out += `\n* ${reason.refuses ? "**Not comparable**: " : "Warning: "}${reason.text}`;
  if (found.changed.length + found.reasons.length > 0) out += "\n";
  if (found.split) {
    const s = found.split;
    const value = (v: number | null) => (v === null ? "–" : human(v, s.unit));
    const of = (p: Part) => [p.name, value(p.means[0]), value(p.means[1]), p.measured.filter(Boolean).join(" | ")];
    out += `\n### Where the time went\n\n${table(["", "A", "B", "measured"], [s.whole, ...s.parts].map(of))}`;
    for (const note of s.notes) out += `\n* ${note}`;
    if (s.notes.length > 0) out += "\n";
  }
  const c = found.comparison;
  if (!c) return out;
  if (c.insufficient) out += `\n${c.insufficient}\n`;
  if (c.results.length > 0) out += `\n### Results\n\n${lines(c.results)}`;
  const news = c.metrics.filter(isNews);
  if (news.length > 0) out += `\n### Metrics that differ\n\n${lines(news)}`;
  if (c.facts.length > 0) {
    out += `\n### Facts that differ\n\n${table(
      ["fact", "A", "B"],
      c.facts.map((f) => [`${f.topic} ${f.name}`, f.values[0] ?? "–", f.values[1] ?? "–"]),
    )}`;
  }
  return out;
}
