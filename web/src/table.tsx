// Rows and columns: sortable, numbers aligned on the right, long answers cut to a first page.

import { useMemo, useState } from "preact/hooks";
import type { Panel, TableData } from "./payload";
import { LongCell } from "./parts";
import { Sparkline } from "./sparkline";
import { human, MISSING, words } from "./units";

const PAGE = 15;
export type Cell = TableData["rows"][number][number];

/** A cell as text; whole numbers without a unit (a process id) digit by digit. */
export function cellText(cell: Cell, unit: string, numeric: boolean, whole = false): string {
  if (cell === null || cell === undefined) return MISSING;
  if (whole && unit === "") return String(cell);
  if (numeric && typeof cell === "number") return human(cell, unit);
  return String(cell);
}

/** The unit of a cell; a column `unit` in the row says it where the column itself has none. */
export function unitOf(table: TableData, row: Cell[], column: number): string {
  const { unit: own, name } = table.columns[column];
  // Counts are called `n` or `n_…`.
  const isCount = name === "n" || name.startsWith("n_");
  const place = own === "" && !isCount && table.columns[column].numeric ? table.columns.findIndex((c) => c.name === "unit") : -1;
  return place < 0 ? own : String(row[place] ?? "");
}

/** Rows by one of their columns; those equal in it keep their order. */
export function sorted(rows: Cell[][], column: number, down: boolean): Cell[][] {
  const direction = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [a[column], b[column]];
    // Missing values stand last, whichever way.
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    if (typeof x === "number" && typeof y === "number") return (x - y) * direction;
    return String(x).localeCompare(String(y), "en", { numeric: true }) * direction;
  });
}

export function Table({ panel, table }: { panel: Panel; table: TableData }) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(null);
  const [all, setAll] = useState(false);
  const [search, setSearch] = useState("");
  const rows = useMemo(() => {
    const wanted = search.toLowerCase();
    const found = wanted ? table.rows.filter((r) => r.some((c) => typeof c === "string" && c.toLowerCase().includes(wanted))) : table.rows;
    return sort ? sorted(found, sort.column, sort.down) : found;
  }, [table, sort, search]);
  const shown = all ? rows : rows.slice(0, PAGE);
  const click = (column: number) => setSort((s) => ({ column, down: s?.column === column ? !s.down : table.columns[column].numeric }));
  return (
    <div>
      {table.rows.length > PAGE && (
        <input
          class="table-search"
          type="search"
          placeholder={`find in ${table.rows.length} rows`}
          aria-label="find rows"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label={panel.title}>
        <table>
          <thead>
            <tr>
              {table.columns.map((c, i) => (
                <th
                  key={c.name}
                  class={c.numeric ? "num" : ""}
                  aria-sort={sort?.column === i ? (sort.down ? "descending" : "ascending") : "none"}
                >
                  <button
                    type="button"
                    title={`${c.name}: ${panel.columns[c.name]?.doc ?? "sort by this column"}`}
                    onClick={() => click(i)}
                  >
                    {words(c.name, c.unit)}
                    <span class="sort-mark" aria-hidden="true">
                      {sort?.column === i ? (sort.down ? " ▾" : " ▴") : ""}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, r) => (
              <tr key={r}>
                {row.map((cell, i) => (
                  <TableCell
                    key={i}
                    cell={cell}
                    unit={unitOf(table, row, i)}
                    numeric={table.columns[i].numeric}
                    whole={table.columns[i].whole}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(rows.length > PAGE || table.total > table.rows.length) && (
        <div class="table-foot">
          {rows.length > PAGE && (
            <button type="button" class="plain" onClick={() => setAll(!all)}>
              {all ? `Show the first ${PAGE}` : `Show all ${rows.length} rows`}
            </button>
          )}
          {table.total > table.rows.length && (
            <span class="quiet">{`The answer has ${table.total} rows; this page holds ${table.rows.length} of them.`}</span>
          )}
        </div>
      )}
    </div>
  );
}

function TableCell({ cell, unit, numeric, whole }: { cell: Cell; unit: string; numeric: boolean; whole: boolean }) {
  if (Array.isArray(cell))
    return (
      <td>
        <Sparkline values={cell} unit={unit} />
      </td>
    );
  const text = cellText(cell, unit, numeric, whole);
  if (numeric)
    return (
      <td class="num" title={cell === null ? "missing" : String(cell)}>
        {text}
      </td>
    );
  return text.length > 60 ? <LongCell text={text} /> : <td>{text}</td>;
}
