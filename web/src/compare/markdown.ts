// A comparison as text for an issue or a mail.

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
  for (const reason of found.reasons) out += `\n* ${reason.refuses ? "**Not comparable**: " : "Warning: "}${reason.text}`;
  if (found.reasons.length > 0) out += "\n";
  if (found.split) {
    const s = found.split;
    out += `\n### Where the time went\n\n${table([s.what, "A", "B"], [["all", human(s.means[0], s.unit), human(s.means[1], s.unit)], ...s.parts.map((p) => [p.name, human(p.means[0], s.unit), human(p.means[1], s.unit)])])}`;
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
