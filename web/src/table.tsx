// Rows and columns: sortable, numbers aligned on the right, long answers cut to a first page.

import { useMemo, useState } from "preact/hooks";
import type { Panel, TableData } from "./payload";
import { LongCell } from "./parts";
import { Sparkline } from "./sparkline";
import { MISSING, plain, words } from "./units";

const PAGE = 15;
export type Cell = TableData["rows"][number][number];

/** A cell as text; whole numbers without a unit (a process id) digit by digit. */
export function cellText(cell: Cell, unit: string, numeric: boolean, whole = false): string {
  if (cell === null || cell === undefined) return MISSING;
  if (whole && unit === "") return String(cell);
  if (numeric && typeof cell === "number") return plain(cell, unit);
  return String(cell);
}

/** The unit of a cell; a column `unit` in the row has it where the column itself has none. */
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

/** Columns as a person reads them: which are shown, in which order, and what is shown of the others once for all rows. */
export interface Layout {
  order: number[];
  /** Texts that are the same in every row: column and value. */
  constant: [number, string][];
  /** Columns without any value. */
  empty: number[];
}

/** What a row is about, where it is long: it comes first. */
const SUBJECTS = ["statement", "query", "sql"];

export function layout({ columns, rows }: TableData): Layout {
  const all = columns.map((_, i) => i);
  // The answer to one row is all of it.
  const empty = rows.length > 1 ? all.filter((i) => rows.every((r) => r[i] === null)) : [];
  const isSame = (i: number) => typeof rows[0]?.[i] === "string" && rows.every((r) => r[i] === rows[0][i]);
  const texts = all.filter((i) => !columns[i].numeric && !empty.includes(i));
  const same = rows.length > 2 ? texts.filter((i) => columns[i].name !== "unit" && isSame(i)) : [];
  // Something has to distinguish rows; one column less is no gain where there are few.
  const constant = columns.length > 4 && same.length < texts.length ? same : [];
  const shown = all.filter((i) => !empty.includes(i) && !constant.includes(i));
  const subject = shown.find((i) => SUBJECTS.includes(columns[i].name));
  const order = subject === undefined ? shown : [subject, ...shown.filter((i) => i !== subject)];
  return order.length > 0
    ? { order, empty, constant: constant.map((i) => [i, String(rows[0][i])]) }
    : { order: all, empty: [], constant: [] };
}

/** About how many characters a row takes, with the space between columns; what is longer than a line is broken. */
export function charactersOf(table: TableData): number {
  const width = (i: number) => {
    const { name, unit, numeric, whole } = table.columns[i];
    const cells = table.rows.map((row) => (Array.isArray(row[i]) ? 20 : cellText(row[i], unitOf(table, row, i), numeric, whole).length));
    return Math.min(60, Math.max(words(name, unit).length, ...cells)) + 2;
  };
  return layout(table).order.reduce((sum, i) => sum + width(i), 0);
}

/** What the columns say that are not shown. */
function Unshown({ table, constant, empty }: { table: TableData } & Omit<Layout, "order">) {
  if (constant.length === 0 && empty.length === 0) return null;
  const name = (i: number) => words(table.columns[i].name, table.columns[i].unit);
  return (
    <p class="constant">
      {constant.map(([i, value], n) => (
        <span key={i}>
          {`${n > 0 ? ", " : ""}${name(i)} `}
          <b>{value}</b>
        </span>
      ))}
      {empty.length > 0 && `${constant.length > 0 ? "; " : ""}no values of ${empty.map(name).join(", ")}`}
    </p>
  );
}

export function Table({ panel, table }: { panel: Panel; table: TableData }) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(null);
  const [all, setAll] = useState(false);
  const [search, setSearch] = useState("");
  const { order, constant, empty } = useMemo(() => layout(table), [table]);
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
      <Unshown table={table} constant={constant} empty={empty} />
      <div class="scroll" tabIndex={0} role="region" aria-label={panel.title}>
        <table>
          <thead>
            <tr>
              {order.map((i) => {
                const c = table.columns[i];
                return (
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
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, r) => (
              <tr key={r}>
                {order.map((i, place) => (
                  <TableCell
                    key={i}
                    cell={row[i]}
                    unit={unitOf(table, row, i)}
                    numeric={table.columns[i].numeric}
                    whole={table.columns[i].whole}
                    subject={place === 0 && SUBJECTS.includes(table.columns[i].name)}
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

interface CellProps {
  cell: Cell;
  unit: string;
  numeric: boolean;
  whole: boolean;
  /** What the row is about: it may take several lines. */
  subject: boolean;
}

function TableCell({ cell, unit, numeric, whole, subject }: CellProps) {
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
  if (subject && text.length <= 160) return <td class="first-text">{text}</td>;
  return text.length > 60 ? <LongCell text={text} /> : <td>{text}</td>;
}
