// The runs of a store as rows, with the columns that were chosen.

import { ask } from "../api";
import { link, refine } from "../router";
import { ending, type Listed } from "./list";
import { useShared, zone } from "../shared";
import { Sparkline } from "../sparkline";
import { date, duration, human, MISSING, words, zoneWord } from "../units";

interface Props {
  rows: Listed[];
  columns: string[];
  hosts: boolean;
  spark: string | null;
  sort: { by: string; down: boolean };
  picked: ReadonlyMap<string, Listed>;
  onPick: (rows: Listed[], on: boolean) => void;
}

export function RunTable({ rows, columns, hosts, spark, sort, picked, onPick }: Props) {
  useShared(zone);
  const all = rows.length > 0 && rows.every((r) => picked.has(r.id));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="runs">
      <table class="runlist">
        <thead>
          <tr>
            <th>
              <input type="checkbox" aria-label="pick all runs on this page" checked={all} onChange={() => onPick(rows, !all)} />
            </th>
            <Sorted by="name" title="name" sort={sort} />
            <Sorted by="start" title={`start, ${zoneWord()}`} sort={sort} />
            <Sorted by="duration" title="length" sort={sort} num />
            {hosts && <th>host</th>}
            <th>ended</th>
            {columns.map((c) => (
              <Sorted
                key={c}
                by={c.includes(":") ? c : `result:${c}`}
                title={words(c.replace(/^(param|tag):/, ""))}
                sort={sort}
                num={!c.includes(":")}
              />
            ))}
            {spark && <th title={`${spark} over the run`}>{spark}</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => {
            const end = ending(run);
            return (
              <tr key={run.id} class={picked.has(run.id) ? "picked" : undefined}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`pick ${run.name}`}
                    checked={picked.has(run.id)}
                    onChange={() => onPick([run], !picked.has(run.id))}
                  />
                </td>
                <td class="run-cell">
                  <a href={link("/run", { run: run.id })} title={run.id} onPointerEnter={() => prefetch(run.id)}>
                    {run.name || run.id}
                  </a>
                  {run.baseline && <span class="tag">baseline</span>}
                  {run.study && <a class="tag" href={link("/study", { name: run.study })}>{`study ${run.study}`}</a>}
                  {Object.entries(run.tags).map(([k, v]) => (
                    <span class="tag" key={k}>{`${k}=${v}`}</span>
                  ))}
                  {run.command && (
                    <div class="command" title={run.command}>
                      {run.command}
                    </div>
                  )}
                </td>
                <td data-label="start">{date(run.start_ms)}</td>
                <td class="num" data-label="length">
                  {duration(run.duration_s)}
                </td>
                {hosts && <td data-label="host">{run.hosts.join(", ")}</td>}
                <td class={end.bad ? "bad" : "quiet"} data-label="ended">
                  {end.text}
                </td>
                {columns.map((c) => (
                  <Chosen key={c} run={run} column={c} />
                ))}
                {spark && <td>{run.spark ? <Sparkline values={run.spark} unit="" width={120} height={24} /> : MISSING}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** A run that is pointed at will probably be opened. */
function prefetch(run: string): void {
  ask("run", { run }).catch(() => undefined);
}

function Chosen({ run, column }: { run: Listed; column: string }) {
  const label = words(column.replace(/^(param|tag):/, ""));
  const text = (value: string | undefined) => (
    <td data-label={label} class={value === undefined ? "none" : undefined}>
      {value ?? MISSING}
    </td>
  );
  if (column.startsWith("param:")) return text(run.params[column.slice(6)]);
  if (column.startsWith("tag:")) return text(run.tags[column.slice(4)]);
  const result = run.results[column];
  return (
    <td class={result ? "num" : "num none"} data-label={label} title={result?.value === undefined ? "missing" : String(result.value)}>
      {result ? human(result.value, result.unit) : MISSING}
    </td>
  );
}

function Sorted({ by, title, sort, num }: { by: string; title: string; sort: Props["sort"]; num?: boolean }) {
  const mine = sort.by === by;
  const down = mine ? !sort.down : by !== "name";
  return (
    <th class={num ? "num" : ""} aria-sort={mine ? (sort.down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => refine({ sort: by, desc: down ? "true" : null, page: null }, true)}>
        {title}
        <span class="sort-mark" aria-hidden="true">
          {mine ? (sort.down ? " ▾" : " ▴") : ""}
        </span>
      </button>
    </th>
  );
}
