// The values behind a panel as rows, for CSV: a table as it is, series over time side by side.

import { type Panel, type Run, type TableData, unpack } from "../payload";
import { seriesName } from "../timechart";
import { timesOf } from "../bins";
import { type Sheet, withUnit } from "./export";

export function sheetOf(panel: Panel, runs: Run[]): Sheet {
  const { time, table } = panel;
  if (time) {
    const times = timesOf(time, runs);
    const columns = time.series.map((s) => unpack(s.avg));
    return {
      head: ["time (s)", ...time.series.map((s) => withUnit(seriesName(s, runs, false), s.unit))],
      rows: times.map((t, i) => [Number(t.toFixed(6)), ...columns.map((c) => c[i] ?? null)]),
    };
  }
  if (!table) return { head: [], rows: [] };
  return { head: table.columns.map((c) => withUnit(c.name, c.unit)), rows: table.rows.map((row) => row.map(plain)) };
}

function plain(cell: TableData["rows"][number][number]): string | number | boolean | null {
  return Array.isArray(cell) ? cell.map((v) => v ?? "").join(" ") : cell;
}
