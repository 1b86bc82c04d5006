// What `compare` answers, and words and colours for it.

import type { Group, Line, SideBySide, Verdict } from "../api.gen";

export type { FactDiff, Group, Line, SideBySide as Comparison, Verdict } from "../api.gen";

/** The groups as people call them: the names of runs where only their ids were given, told apart where they are the same. */
export function titles({ a, b }: SideBySide): [string, string] {
  const isIds = (g: Group) => g.title.split(",").every((word) => g.runs.some((r) => r.id === word.trim()));
  const named = (g: Group, tail: boolean) => [...new Set(g.runs.map((r) => (tail ? `${r.name} (${r.id.slice(-4)})` : r.name)))].join(", ");
  const say = (tail: boolean) => [a, b].map((g) => (isIds(g) ? named(g, tail) : g.title)) as [string, string];
  const short = say(false);
  return short[0] === short[1] ? say(true) : short;
}

/** In the order in which they matter; a sign beside each, so that colour is not the only difference. */
export const VERDICTS: { verdict: Verdict; sign: string; about: string }[] = [
  { verdict: "worse", sign: "▼", about: "B is worse by more than the margin" },
  { verdict: "better", sign: "▲", about: "B is better by more than the margin" },
  { verdict: "different", sign: "◆", about: "B differs by more than the margin; neither direction is better by itself" },
  { verdict: "same", sign: "=", about: "Any difference is smaller than the margin" },
  { verdict: "unclear", sign: "?", about: "Inconclusive: add more runs" },
  { verdict: "insufficient runs", sign: "…", about: "Too few runs for a significance test" },
];

export const signOf = (verdict: Verdict): string => VERDICTS.find((v) => v.verdict === verdict)?.sign ?? "";

/** Whether a line has a change; of too few runs, whether no run of one group is among those of the other. */
export function isNews(line: Line): boolean {
  if (["worse", "better", "different"].includes(line.verdict)) return true;
  return line.verdict === "insufficient runs" && Math.abs(line.effect) >= 1 && Math.abs(line.change) > 0.05;
}

/** `cpu.usr` or the name of a result, as words. */
export function metricName(line: Line): string {
  return line.table === "result" ? line.column : `${line.table}.${line.column}`;
}

/** A share or a plain difference, with its sign; a share of a thousand percent and more as a factor. */
export function changeText(line: Line, value: number, human: (v: number, unit: string) => string): string {
  if (line.relative && value >= 10) return `×${(value + 1).toFixed(0)}`;
  const sign = value > 0 ? "+" : value < 0 ? "−" : "±";
  return sign + (line.relative ? percent(Math.abs(value)) : human(Math.abs(value), line.unit));
}

export function percent(share: number): string {
  const p = 100 * share;
  return `${p >= 100 ? p.toFixed(0) : p >= 10 ? p.toFixed(1) : p.toFixed(2)}%`;
}

/** A p value: small ones by their bound. */
export function pText(p: number | null): string {
  if (p === null) return "–";
  return p < 0.0001 ? "< 0.0001" : p.toFixed(p < 0.01 ? 4 : 3);
}
