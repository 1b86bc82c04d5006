// The summary: one row a resource with its average, minimum, maximum, trend and shape; tiles; bars.

import { type Numbers, type Panel, type Run, type TableData, type TimeData, unpack } from "./payload";
import { colour, theme, useShared } from "./shared";
import { Sparkline } from "./sparkline";
import { cellText, unitOf } from "./table";
import { human, MISSING, words } from "./units";

/** Below this the trend over the run is called flat, percent of its begin. */
const FLAT = 5;

/** In words and with a sign: colour and arrows are never the only carrier. */
function trend(pct: number | null): string {
  if (pct === null) return MISSING;
  if (Math.abs(pct) < FLAT) return "→ flat";
  // A line through a few bursts begins or ends below nothing: its slope is no change that happened.
  if (Math.abs(pct) > 100) return pct > 0 ? "↗ rises" : "↘ falls";
  const by = Math.abs(pct).toFixed(0);
  return pct > 0 ? `↗ +${by}%` : `↘ −${by}%`;
}

interface Row {
  name: string;
  run: number;
  unit: string;
  avg: number | null;
  min: number | null;
  max: number | null;
  trend: number | null;
  line: Numbers;
  tops?: Numbers;
}

/** How much of the variation a line has to explain before it is called a trend, r squared; as the report's own. */
const EXPLAINS = 0.3;

/** Change along the line of least squares, percent of where it begins, or of a tenth of the mean where that is more; as the report's
 * own `trend`. 0 where the line explains little, and nothing falls by more than all of it. */
export function trendOf(line: Numbers): number | null {
  const points = line.map((v, i) => [i, v] as const).filter((p): p is readonly [number, number] => p[1] !== null);
  if (points.length < 3) return null;
  const mx = points.reduce((a, p) => a + p[0], 0) / points.length;
  const my = points.reduce((a, p) => a + p[1], 0) / points.length;
  if (my === 0) return null;
  const xy = points.reduce((a, p) => a + (p[0] - mx) * (p[1] - my), 0);
  const xx = points.reduce((a, p) => a + (p[0] - mx) ** 2, 0);
  const yy = points.reduce((a, p) => a + (p[1] - my) ** 2, 0);
  if (yy === 0 || xy * xy < EXPLAINS * xx * yy) return 0;
  const at = (x: number) => my + (xy / xx) * (x - mx);
  const [first, last] = [at(points[0][0]), at(points[points.length - 1][0])];
  const change = (100 * (last - first)) / Math.max(Math.abs(first), Math.abs(my) / 10);
  return points.every((p) => p[1] >= 0) ? Math.max(-100, change) : change;
}

function fromTime(time: TimeData): Row[] {
  return time.series.map((s) => ({
    name: words(s.name, s.unit),
    run: s.run,
    unit: s.unit,
    avg: s.stats.avg,
    min: s.stats.min,
    max: s.stats.max,
    trend: s.stats.trend_pct,
    line: unpack(s.avg),
    tops: s.max && unpack(s.max),
  }));
}

/** Rows with columns `avg`, `min`, `max`, `unit` and a list of numbers; what else is text names the row. */
function fromTable(table: TableData, runs: Run[]): Row[] {
  const at = (name: string) => table.columns.findIndex((c) => c.name === name);
  const number = (row: TableData["rows"][number], name: string) => {
    const cell = row[at(name)];
    return typeof cell === "number" ? cell : null;
  };
  return table.rows.map((row) => {
    const line = row.find((cell): cell is Numbers => Array.isArray(cell)) ?? [];
    const names = table.columns.map((c, i) => (typeof row[i] === "string" && !["run", "unit"].includes(c.name) ? row[i] : null));
    return {
      name: words(names.filter((n) => n !== null).join(" · ")),
      run: Math.max(
        0,
        runs.findIndex((r) => r.name === row[at("run")]),
      ),
      unit: String(row[at("unit")] ?? ""),
      avg: number(row, "avg"),
      min: number(row, "min"),
      max: number(row, "max"),
      trend: trendOf(line),
      line,
    };
  });
}

export function Summary({ panel, runs }: { panel: Panel; runs: Run[] }) {
  useShared(theme);
  const several = runs.length > 1;
  const all = panel.time ? fromTime(panel.time) : panel.table ? fromTable(panel.table, runs) : [];
  // Runs of one resource stand one below the other.
  const order = new Map([...new Set(all.map((s) => s.name))].map((n, i) => [n, i]));
  const rows = all.sort((a, b) => order.get(a.name)! - order.get(b.name)! || a.run - b.run);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={panel.title}>
      <table class="summary">
        <thead>
          <tr>
            <th>resource</th>
            {several && <th>run</th>}
            <th>over time</th>
            <th class="num">average</th>
            <th class="num">max</th>
            <th class="num">min</th>
            <th title="Change from start to end along a line, where a line explains the values; as a percentage of where it begins">
              trend
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((s) => (
            <tr key={`${s.name} ${s.run}`}>
              <th scope="row" title={panel.columns[s.name]?.doc}>
                {s.name}
              </th>
              {several && (
                <td>
                  <span class="swatch" style={{ background: colour(s.run) }} /> {runs[s.run].name}
                </td>
              )}
              <td>
                <Sparkline values={s.line} max={s.tops} unit={s.unit} colour={colour(several ? s.run : 0)} />
              </td>
              <td class="num strong">{human(s.avg, s.unit)}</td>
              <td class="num">{human(s.max, s.unit)}</td>
              <td class="num">{human(s.min, s.unit)}</td>
              <td class="trend">{s.max === 0 && s.min === 0 ? "" : trend(s.trend)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Tile {
  name: string;
  /** One of each run, where there are several. */
  values: { value: string; title: string; run: string }[];
}

/** Adds a value to the tile of its name. */
function put(tiles: Map<string, Tile>, name: string, value: Tile["values"][number]): void {
  const tile = tiles.get(name) ?? { name, values: [] };
  tile.values.push(value);
  tiles.set(name, tile);
}

/** One big number each: a row with `value` is a tile, otherwise each number of a row is one. Values that several runs
 * have for it stand in one tile. */
export function Tiles({ panel, table, runs }: { panel: Panel; table: TableData; runs: Run[] }) {
  useShared(theme);
  const value = table.columns.findIndex((c) => c.name === "value" || c.name === panel.values);
  const run = table.columns.findIndex((c) => c.name === "run");
  const tiles = new Map<string, Tile>();
  for (const row of table.rows) {
    const of = run < 0 ? "" : String(row[run] ?? "");
    if (value >= 0) {
      const names = table.columns
        .map((c, i) => (!c.numeric && i !== run && !["host", "unit", "better", "source"].includes(c.name) ? row[i] : null))
        .filter((v) => v !== null);
      put(tiles, words(names.join(" ")), {
        value: cellText(row[value], unitOf(table, row, value), true),
        title: String(row[value] ?? ""),
        run: of,
      });
    } else {
      table.columns.forEach((c, i) => {
        if (i !== run)
          put(tiles, words(c.name, c.unit), {
            value: cellText(row[i], c.unit, c.numeric, c.whole),
            title: panel.columns[c.name]?.doc ?? String(row[i] ?? ""),
            run: of,
          });
      });
    }
  }
  const place = (name: string) => runs.findIndex((r) => r.name === name);
  return (
    <div class="tiles">
      {[...tiles.values()].map((t) => (
        <div class="tile" key={t.name} title={t.values.length === 1 ? t.values[0].title : undefined}>
          <div class="tile-name">{t.name}</div>
          {t.values.length === 1 && !t.values[0].run ? (
            <div class={t.values[0].value.length > 14 ? "tile-value small" : "tile-value"}>{t.values[0].value}</div>
          ) : (
            [...t.values]
              .sort((a, b) => place(a.run) - place(b.run))
              .map((v, i) => (
                <div class="tile-of" key={i} title={v.title}>
                  <span class="quiet">
                    {place(v.run) >= 0 && <span class="swatch" style={{ background: colour(place(v.run)) }} />} {v.run}
                  </span>
                  <strong>{v.value}</strong>
                </div>
              ))
          )}
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
  // What is the same in all rows distinguishes none, and would take the room of what does.
  const texts = [...table.columns.keys()].filter((i) => i !== value && !table.columns[i].numeric && table.columns[i].name !== "unit");
  const telling = texts.filter((i) => table.rows.length < 2 || table.rows.some((row) => row[i] !== table.rows[0][i]));
  const named = telling.length > 0 ? telling : texts;
  return (
    <div class="bars">
      {table.rows.slice(0, BARS).map((row, r) => {
        const name = named
          .map((i) => row[i])
          .filter((v) => v !== null)
          .join(" · ");
        const rest = table.columns
          .map((c, i) => (i !== value && c.numeric ? `${words(c.name, c.unit)} ${cellText(row[i], c.unit, true, c.whole)}` : null))
          .filter(Boolean)
          .join(", ");
        return (
          <div class="bar-row" key={r} title={[rest, panel.columns[table.columns[value].name]?.doc].filter(Boolean).join("\n")}>
            <span class="bar-name">{name}</span>
            <span class="bar-track">
              <span
                class="bar-fill"
                style={{
                  width: `${(Math.abs(numbers[r]) / most) * 100}%`,
                  background: colour(run < 0 ? 0 : runsSeen.indexOf(String(row[run]))),
                }}
              />
            </span>
            <span class="bar-value">{cellText(row[value], unitOf(table, row, value) || panel.unit, true)}</span>
          </div>
        );
      })}
      {table.total > BARS && <div class="quiet">{`The first ${BARS} of ${table.total} rows.`}</div>}
    </div>
  );
}
