// The difference of two runs as a heat map: blue where the second has less, orange where it has more, near white
// where they are equal. Rows are the series of both, columns bins of time since each run's start.

import { useMemo } from "preact/hooks";
import { type Panel, type Run, type SeriesData, type TimeData, unpack } from "../payload";
import { diverging } from "../shared";
import { timesOf } from "../bins";
import { clock, human, words } from "../units";
import { bands, type Cell, Grid } from "./grid";
import { DivergingScale } from "./legend-scale";

interface Props {
  panel: Panel;
  time: TimeData;
  runs: Run[];
  /** The runs: B less A. */
  a: number;
  b: number;
  /** Seconds by which each run is moved to the right. */
  shift?: [number, number];
}

interface Row {
  name: string;
  a: SeriesData;
  b: SeriesData;
}

export function DifferenceMap({ panel, time, runs, a, b, shift = [0, 0] }: Props) {
  const times = useMemo(() => timesOf(time), [time]);
  const map = useMemo(() => lay(time, times, a, b, shift), [time, a, b, shift[0], shift[1]]);
  const describe = (t: number, y: number) => {
    const row = map.rows[Math.floor(y / map.high)];
    const i = Math.min(time.n - 1, Math.max(0, Math.ceil((t - times[0]) / time.step)));
    if (!row) return null;
    const [va, vb] = [value(row.a, i, shift[0], time), value(row.b, i, shift[1], time)];
    const change = va === null || vb === null ? null : vb - va;
    return {
      head: `${clock(times[i])} since the start · ${words(row.name)}`,
      lines: [
        { name: runs[a].name, value: human(va, panel.unit) },
        { name: runs[b].name, value: human(vb, panel.unit) },
        { name: "difference", value: `${change !== null && change > 0 ? "+" : ""}${human(change, panel.unit)}`, near: true },
      ],
    };
  };
  if (map.rows.length === 0) return <p class="quiet">The runs have no series in common.</p>;
  return (
    <div>
      <Grid
        label={`${panel.title}: ${runs[b].name} less ${runs[a].name}`}
        times={times}
        span={[times[0] - time.step, times[times.length - 1]]}
        height={map.height}
        cells={map.cells}
        names={map.names}
        describe={describe}
      />
      {map.most === 0 ? (
        <p class="quiet">The runs do not differ at any time.</p>
      ) : (
        <DivergingScale
          low={`less in ${runs[b].name}`}
          high={`more in ${runs[b].name}`}
          most={map.most}
          text={(v) => human(v, panel.unit)}
        />
      )}
    </div>
  );
}

/** The value of bin `i`, of a run that is moved by `shift` seconds. */
function value(series: SeriesData, i: number, shift: number, time: TimeData): number | null {
  return unpack(series.avg)[i - Math.round(shift / time.step)] ?? null;
}

function lay(time: TimeData, times: number[], a: number, b: number, shift: [number, number]) {
  const of = (run: number) => new Map(time.series.filter((s) => s.run === run).map((s) => [s.name, s]));
  const [left, right] = [of(a), of(b)];
  const rows: Row[] = [...left].flatMap(([name, s]) => (right.has(name) ? [{ name, a: s, b: right.get(name)! }] : []));
  const { high, filled, height, names } = bands(rows.map((row) => row.name));
  const changes = rows.map((row) =>
    times.map((_, i) => {
      const [va, vb] = [value(row.a, i, shift[0], time), value(row.b, i, shift[1], time)];
      return va === null || vb === null ? null : vb - va;
    }),
  );
  const most = changes.flat().reduce<number>((m, c) => Math.max(m, Math.abs(c ?? 0)), 0);
  const cells: Cell[] = [];
  for (const [r, row] of changes.entries()) {
    for (const [i, change] of row.entries()) {
      if (change === null) continue;
      cells.push({ from: times[i] - time.step, to: times[i], top: r * high, height: filled, rgb: diverging(most > 0 ? change / most : 0) });
    }
  }
  return { rows, high, height, cells, names, most };
}
