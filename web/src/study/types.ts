// What `study` answers, as `fenxi study report --json`, and how its cells are read.

import type { ScalingLaw, StudyResponse } from "../api.gen";

export type { Curve, ScalingLaw as Fit, StudyCell as Cell, StudyReport as Report, StudyResponse as Response } from "../api.gen";

export type Range = [number, number] | null;

/** Levels of a cell by factor: `threads=4 method=zstd -3` has two. */
export function levelsOf(cell: string): Map<string, string> {
  return new Map(
    cell.split(/ (?=[^ =]+=)/).flatMap((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
    }),
  );
}

export function factorsOf(response: StudyResponse): string[] {
  return [...levelsOf(response.cells[0]?.cell ?? "").keys()];
}

/** Levels of a factor in the order of the cells. */
export function levelNames(response: StudyResponse, factor: string): string[] {
  return [...new Set(response.cells.map((c) => levelsOf(c.cell).get(factor) ?? ""))];
}

/** The other factors of a cell, as the name of a line. */
export function others(cell: string, factor: string): string {
  return [...levelsOf(cell)]
    .filter(([name]) => name !== factor)
    .map(([name, level]) => `${name} ${level}`)
    .join(", ");
}

export function law(fit: ScalingLaw, n: number): number {
  return (fit.gamma * n) / (1 + fit.alpha * (n - 1) + fit.beta * n * (n - 1));
}

/** The fields of runs by which a cell's are found in the list. */
export const runsOf = (study: string, cell?: string): string[] => [`study=${study}`, ...(cell && cell !== "all" ? [`cell=${cell}`] : [])];
