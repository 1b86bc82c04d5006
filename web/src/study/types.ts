// What `study` answers, as `fenxi study report --json`, and how its cells are read.

export type Range = [number, number] | null;

export interface Report {
  study: string;
  about: string | null;
  seed: number;
  blocks: number;
  cells: number;
  finished: number;
  responses: Response[];
  failures: { run: string; block: number; cell: string; why: string; made_later: boolean }[];
}

export interface Response {
  name: string;
  unit: string;
  better: string;
  is_throughput: boolean;
  is_latency: boolean;
  cells: Cell[];
  effects: { factor: string; levels: { level: string; mean: number; interval: Range; ratio: number; ratio_interval: Range }[] }[];
  curves: Curve[];
  best: { cell: string; mean: number; as_good: [string, number][]; unknown: string[]; is_pooled: boolean } | null;
  interactions: { factors: [string, string]; p: number; effects: [string, number][] }[];
  outliers: { run: string; block: number; cell: string; ratio: number }[];
}

export interface Cell {
  cell: string;
  n: number;
  mean: number | null;
  interval: Range;
  command_cpu_s: number | null;
  machine_cpu_s: number | null;
  cpu_s_per_unit: number | null;
}

export interface Curve {
  factor: string;
  others: string;
  points: { level: number; cell: number; speedup: number | null; speedup_interval: Range; efficiency: number | null }[];
  usl: Fit | null;
  amdahl: Fit | null;
}

/** Throughput at N is gamma N / (1 + alpha (N - 1) + beta N (N - 1)). */
export interface Fit {
  gamma: number;
  alpha: number;
  alpha_interval: Range;
  beta: number;
  beta_interval: Range;
  r_squared: number;
  knee: number | null;
  knee_interval: [number | null, number | null] | null;
  peak: number | null;
  peak_interval: [number | null, number | null] | null;
}

export interface Listed {
  studies: { name: string; runs: number; finished: number; planned: number; factors: string[] }[];
}

/** Levels of a cell by factor: `threads=4 method=zstd -3` has two. */
export function levelsOf(cell: string): Map<string, string> {
  return new Map(
    cell.split(/ (?=[^ =]+=)/).flatMap((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
    }),
  );
}

export function factorsOf(response: Response): string[] {
  return [...levelsOf(response.cells[0]?.cell ?? "").keys()];
}

/** Levels of a factor in the order of the cells. */
export function levelNames(response: Response, factor: string): string[] {
  return [...new Set(response.cells.map((c) => levelsOf(c.cell).get(factor) ?? ""))];
}

/** The other factors of a cell, as the name of a line. */
export function others(cell: string, factor: string): string {
  return [...levelsOf(cell)]
    .filter(([name]) => name !== factor)
    .map(([name, level]) => `${name} ${level}`)
    .join(", ");
}

export function law(fit: Fit, n: number): number {
  return (fit.gamma * n) / (1 + fit.alpha * (n - 1) + fit.beta * n * (n - 1));
}

/** The fields of runs by which a cell's are found in the list. */
export const runsOf = (study: string, cell?: string): string[] => [`study=${study}`, ...(cell && cell !== "all" ? [`cell=${cell}`] : [])];
