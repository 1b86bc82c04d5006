// What a run was: host, time, command, parameters; what recording it cost, and what it holds.

import type { Moment } from "../marks";
import { RunColour } from "../panel";
import type { Run } from "../payload";
import { useShared, zone } from "../shared";
import { duration, human, MISSING, moment, plural, authored } from "../units";
import { Marks } from "./marking";
import { Windows } from "./windows";

interface Props {
  runs: Run[];
  /** What happened in the run, where it is one. */
  moments?: Moment[];
  writable: boolean;
}

export function RunFacts({ runs, moments = [], writable }: Props) {
  useShared(zone);
  return (
    <div class="runs">
      {runs.map((run, i) => (
        <section class="run" key={run.id} aria-label={`run ${run.name}`}>
          <div class="run-name">
            {runs.length > 1 && <RunColour run={i} />}
            {runs.length > 1 && <strong>{run.name}</strong>}
            {run.baseline && <span class="tag">baseline</span>}
            {run.recovered && <span class="tag warn">recovered: its recorder died</span>}
            {Object.entries(run.tags).map(([k, v]) => (
              <span class="tag">{`${k}=${v}`}</span>
            ))}
          </div>
          <dl>
            <Fact name="host" value={run.hosts.join(", ")} />
            <Fact name="start" value={moment(run.start_ms)} />
            <Fact name="length" value={duration(run.duration_s)} />
            {!!run.exit_status && <Fact name="exit status" value={String(run.exit_status)} />}
            {run.signal !== null && <Fact name="ended by signal" value={String(run.signal)} />}
            <Windows run={run} writable={writable} />
            {runs.length === 1 && <Marks run={run} moments={moments} writable={writable} />}
            {run.command && <Fact name="command" value={run.command} wide />}
          </dl>
          <details class="nothing">
            <summary>{about(run)}</summary>
            <dl>
              {run.interval_s !== null && <Fact name="interval" value={duration(run.interval_s)} />}
              {!!run.missed_ticks && <Fact name="missed samples" value={`${run.missed_ticks} of ${(run.ticks ?? 0) + run.missed_ticks}`} />}
              {run.cost_s !== null && <Fact name="recorder overhead" value={`${human(run.cost_s, "s")} CPU`} />}
              {!!run.warmup_s && <Fact name="steady after" value={duration(run.warmup_s)} />}
              {Object.entries(run.params).map(([k, v]) => (
                <Fact name={k} value={v} />
              ))}
              {run.remarks.map((r, i) => (
                <Fact name="remark" value={r} author={authored(run.remarked[i])} wide />
              ))}
              <Fact name="run" value={run.id} />
            </dl>
            <Holdings run={run} />
          </details>
        </section>
      ))}
    </div>
  );
}

function Fact({ name, value, author, wide }: { name: string; value: string; author?: string; wide?: boolean }) {
  return (
    <div class={wide ? "fact wide" : "fact"}>
      <dt>{name}</dt>
      <dd>
        {value}
        {author && <span class="quiet">{` ${author}`}</span>}
      </dd>
    </div>
  );
}

/** What is folded: parameters, windows, and what the run holds. */
function about(run: Run): string {
  const tables = run.tables ?? [];
  const bytes = tables.reduce((sum, t) => sum + t.bytes, 0);
  const parameters = Object.keys(run.params).length;
  const words = [
    parameters > 0 && plural(parameters, "parameter"),
    tables.length > 0 && `${plural(tables.length, "table")}, ${human(bytes, "B")}`,
    run.cost_s !== null && "cost of recording",
  ];
  return words.filter(Boolean).join("; ") || "more";
}

/** What each source cost, and the tables of the run. */
function Holdings({ run }: { run: Run }) {
  const [costs, tables] = [run.costs ?? [], run.tables ?? []];
  if (costs.length === 0 && tables.length === 0) return null;
  return (
    <div class="holdings">
      {costs.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>source</th>
              <th class="num">CPU</th>
              <th class="num">samples</th>
              <th class="num">CPU per sample</th>
            </tr>
          </thead>
          <tbody>
            {[...costs]
              .sort((a, b) => (b.cpu_s ?? 0) - (a.cpu_s ?? 0))
              .map((c) => (
                <tr key={c.source}>
                  <td>{c.source}</td>
                  <td class="num">{human(c.cpu_s, "s")}</td>
                  <td class="num">{c.ticks ?? MISSING}</td>
                  <td class="num">{c.cpu_s !== null && c.ticks ? human(c.cpu_s / c.ticks, "s") : MISSING}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
      {tables.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>table</th>
              <th class="num">rows</th>
              <th class="num">size</th>
            </tr>
          </thead>
          <tbody>
            {tables.map((t) => (
              <tr key={t.table}>
                <td>{t.table}</td>
                <td class="num">{t.rows.toLocaleString("en")}</td>
                <td class="num">{human(t.bytes, "B")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
