// The summary: one row a resource with its average, least, greatest value, trend and shape; tiles; bars.

import { type Panel, type Run, type TableData, type TimeData, unpack } from "./payload";
import { colour, theme, useShared } from "./shared";
import { Sparkline } from "./sparkline";
import { cellText, unitOf } from "./table";
import { meaning } from "./timechart";
import { human, MISSING, words } from "./units";

/** Below this the trend over the run is called flat, percent of the mean. */
const FLAT = 5;

/** In words and with a sign: colour and arrows are never the only carrier. */
function trend(pct: number | null): string {
  if (pct === null) return MISSING;
  if (Math.abs(pct) < FLAT) return "→ flat";
  const by = Math.abs(pct) > 999 ? "> 999" : Math.abs(pct).toFixed(0);
  return pct > 0 ? `↗ +${by} %` : `↘ −${by} %`;
}

export function Summary({ panel, time, runs }: { panel: Panel; time: TimeData; runs: Run[] }) {
  useShared(theme);
  const several = runs.length > 1;
  // Runs of one resource stand one below the other.
  const order = new Map([...new Set(time.series.map((s) => s.name))].map((n, i) => [n, i]));
  const rows = [...time.series].sort((a, b) => order.get(a.name)! - order.get(b.name)! || a.run - b.run);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={panel.title}>
      <table class="summary">
        <thead>
          <tr>
            <th>resource</th>
            {several && <th>run</th>}
            <th class="num">average</th>
            <th class="num">max</th>
            <th class="num">min</th>
            <th title="Change along a straight line from start to end, as a share of the mean">trend</th>
            <th>over time</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((s) => (
            <tr key={`${s.name} ${s.run}`}>
              <th scope="row" title={meaning(panel, s.name)}>{words(s.name)}</th>
              {several && <td><span class="swatch" style={{ background: colour(s.run) }} /> {runs[s.run].name}</td>}
              <td class="num strong">{human(s.stats.avg, s.unit)}</td>
              <td class="num">{human(s.stats.max, s.unit)}</td>
              <td class="num">{human(s.stats.min, s.unit)}</td>
              <td class="trend">{trend(s.stats.trend_pct)}</td>
              <td><Sparkline values={unpack(s.avg)} max={s.max && unpack(s.max)} unit={s.unit} colour={colour(several ? s.run : 0)} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One big number each: a row with `value` is a tile, otherwise each number of a row is one. */
export function Tiles({ panel, table }: { panel: Panel; table: TableData }) {
  const value = table.columns.findIndex((c) => c.name === "value" || c.name === panel.values);
  const tiles: { name: string; value: string; title: string; of?: string }[] = [];
  const run = table.columns.findIndex((c) => c.name === "run");
  for (const row of table.rows) {
    const of = run < 0 ? undefined : String(row[run] ?? "");
    if (value >= 0) {
      const names = table.columns.map((c, i) => (!c.numeric && i !== run && !["unit", "better", "source"].includes(c.name) ? row[i] : null)).filter((v) => v !== null);
      tiles.push({ name: words(names.join(" ")), value: cellText(row[value], unitOf(table, row, value), true), title: String(row[value] ?? ""), of });
    } else {
      table.columns.forEach((c, i) => {
        if (i !== run) tiles.push({ name: words(c.name), value: cellText(row[i], c.unit, c.numeric), title: panel.columns[c.name]?.doc ?? String(row[i] ?? ""), of });
      });
    }
  }
  return (
    <div class="tiles">
      {tiles.map((t, i) => (
        <div class="tile" key={i} title={t.title}>
          <div class="tile-name">{t.name}</div>
          <div class={t.value.length > 14 ? "tile-value small" : "tile-value"}>{t.value}</div>
          {t.of && <div class="quiet">{t.of}</div>}
        </div>
      ))}
    </div>
  );
}

const BARS = 40;

/** One bar a row: its names on the left, the first column of values as its length. */
export function Bars({ panel, table }: { panel: Panel; table: TableData }) {
  useShared(theme);
  const wanted = table.columns.findIndex((c) => c.numeric && c.name === panel.values);
  const value = wanted >= 0 ? wanted : table.columns.findIndex((c) => c.numeric);
  if (value < 0) return <p class="quiet">There is no column of numbers to draw.</p>;
  const numbers = table.rows.map((r) => (typeof r[value] === "number" ? (r[value] as number) : 0));
  const most = Math.max(...numbers.map(Math.abs), 1e-300);
  const run = table.columns.findIndex((c) => c.name === "run");
  const runsSeen = [...new Set(table.rows.map((r) => (run < 0 ? "" : String(r[run]))))];
  return (
    <div class="bars">
      {table.rows.slice(0, BARS).map((row, r) => {
        const name = table.columns.map((c, i) => (i !== value && !c.numeric && c.name !== "unit" ? row[i] : null)).filter((v) => v !== null).join(" · ");
        const rest = table.columns.map((c, i) => (i !== value && c.numeric ? `${words(c.name)} ${cellText(row[i], c.unit, true)}` : null)).filter(Boolean).join(", ");
        return (
          <div class="bar-row" key={r} title={[rest, panel.columns[table.columns[value].name]?.doc].filter(Boolean).join("\n")}>
            <span class="bar-name">{name}</span>
            <span class="bar-track">
              <span class="bar-fill" style={{ width: `${(Math.abs(numbers[r]) / most) * 100}%`, background: colour(run < 0 ? 0 : runsSeen.indexOf(String(row[run]))) }} />
            </span>
            <span class="bar-value">{cellText(row[value], unitOf(table, row, value) || panel.unit, true)}</span>
          </div>
        );
      })}
      {table.total > BARS && <div class="quiet">{`The first ${BARS} of ${table.total} rows.`}</div>}
    </div>
  );
}
