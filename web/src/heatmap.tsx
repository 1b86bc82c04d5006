// A heat map: one row a series, one column a bin of time, colour for the value.

import { useMemo, useState } from "preact/hooks";
import { bands, type Cell, Grid } from "./charts/grid";
import { HeatScale } from "./charts/legend-scale";
import { type Panel, type Run, type SeriesData, type TimeData, unpack } from "./payload";
import { heat } from "./shared";
import { meaning } from "./timechart";
import { head, timesOf } from "./bins";
import { human, plural, words } from "./units";

/** From so many rows on, those with nothing but zeros are folded away. */
const FOLD = 8;

export function HeatMap({ panel, time, runs, only }: { panel: Panel; time: TimeData; runs: Run[]; only: number }) {
  const [zeros, setZeros] = useState(false);
  const [rows, folded] = useMemo(() => {
    const all = time.series.filter((s) => s.run === only);
    const loud = all.filter((s) => s.stats.max !== 0);
    return all.length > FOLD && loud.length > 0 ? [zeros ? all : loud, all.length - loud.length] : [all, 0];
  }, [time, only, zeros]);
  const times = useMemo(() => timesOf(time, [runs[only]]), [time, runs, only]);
  const top = panel.top ?? (time.max > 0 ? (panel.unit === "%" && time.max > 50 && time.max <= 100.5 ? 100 : time.max) : 1);
  const { high, filled, height, names } = useMemo(() => bands(rows.map((row) => row.name)), [rows]);
  const cells = useMemo(() => ({ [Symbol.iterator]: () => cellsOf(rows, times, time.step, top, high, filled) }), [rows, times, top]);
  const describe = (t: number, y: number) => {
    const row = rows[Math.floor(y / high)];
    // A bin reaches from its begin to its end; its time is its end.
    const i = Math.min(time.n - 1, Math.max(0, Math.ceil((t - times[0]) / time.step)));
    if (!row) return null;
    return {
      head: head(times[i], time.step, runs, only),
      lines: [{ name: `${panel.series ?? ""} ${words(row.name)}`.trim(), value: human(unpack(row.avg)[i], panel.unit) }],
      meaning: panel.values ? meaning(panel, panel.values) : undefined,
    };
  };
  const most = human(top, panel.unit);
  return (
    <div>
      <Grid
        label={`${panel.title}: ${plural(rows.length, "row")} over time, from 0 to ${most}`}
        times={times}
        span={[time.t0 - time.step, times[times.length - 1]]}
        height={height}
        cells={cells}
        names={names}
        only={only}
        describe={describe}
      />
      <HeatScale minimum="0" most={most}>
        {folded > 0 && (
          <button type="button" class="legend-zeros" aria-expanded={zeros} onClick={() => setZeros(!zeros)}>
            {zeros ? "hide rows of zeros" : `${plural(folded, "row")} always zero`}
          </button>
        )}
      </HeatScale>
    </div>
  );
}

/** A cell for each value; one object for all, as there may be hundreds of thousands. Missing values have none: a gap is a gap. */
function* cellsOf(rows: SeriesData[], times: number[], step: number, top: number, high: number, height: number): Generator<Cell> {
  const cell: Cell = { from: 0, to: 0, top: 0, height, rgb: [0, 0, 0] };
  for (let r = 0; r < rows.length; r++) {
    const values = unpack(rows[r].avg);
    cell.top = r * high;
    for (let i = 0; i < values.length; i++) {
      const v = values[i];
      if (v === null) continue;
      cell.from = times[i - 1] ?? times[i] - step;
      cell.to = times[i];
      cell.rgb = heat(v / top);
      yield cell;
    }
  }
}
