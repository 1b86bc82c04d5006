// All results over runs: the latest values of each, and its last change, what became worse first.

import { lists, offline, useAnswer } from "../api";
import type { TrendSeries } from "../api.gen";
import { Empty, Failure, Pending } from "../parts";
import { link } from "../router";
import { Sparkline } from "../sparkline";
import { human, moment, plural } from "../units";

export function Overview({ query }: { query: URLSearchParams }) {
  const answer = useAnswer("trends", { where: query.getAll("where"), last: query.get("last") });
  const found = answer.data;
  if (answer.error) {
    return (
      <>
        <Failure error={answer.error} />
        <Empty title="Which metric?">
          <p>
            A result of the runs by its name, such as <code>throughput</code>, or a column such as <code>cpu.sys</code> or{" "}
            <code>disk.await_ms[device=sda]</code>. With ten runs or more, change points are detected.
          </p>
        </Empty>
      </>
    );
  }
  if (!found) return <Pending what="Loading results" />;
  const few = found.series.filter((s) => s.points < found.least).length;
  return (
    <>
      {found.series.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="results">
          <table>
            <thead>
              <tr>
                <th>result</th>
                <th class="num">points</th>
                <th>latest</th>
                <th class="num">last</th>
                <th>last change</th>
                <th>since</th>
              </tr>
            </thead>
            <tbody>
              {found.series.map((s) => (
                <Row key={`${s.metric} ${s.program ?? ""}`} series={s} query={query} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {few > 0 && <p class="quiet">{`${plural(few, "result")} with fewer than ${found.least} points: no change point is looked for.`}</p>}
      {found.constant > 0 && <p class="quiet">{`${plural(found.constant, "result")} not listed: they never varied, or have one value.`}</p>}
    </>
  );
}

function Row({ series, query }: { series: TrendSeries; query: URLSearchParams }) {
  const { metric, program, unit, change, latest } = series;
  return (
    <tr>
      <td>
        {offline ? metric : <a href={link("/trend", { ...lists(query), metric })}>{metric}</a>}
        {program && <span class="quiet">{` of ${program}`}</span>}
      </td>
      <td class="num">{series.points}</td>
      <td>
        <Sparkline values={latest} unit={unit} />
      </td>
      <td class="num">{human(latest[latest.length - 1], unit)}</td>
      <td>
        {change && <Verdict is={change.verdict} />}
        {change && changeOf(change)}
      </td>
      <td>
        {change && (offline ? change.name : <a href={link("/run", { run: change.run })}>{change.name}</a>)}
        {change && `, ${moment(change.start_ms)}`}
      </td>
    </tr>
  );
}

/** A change of level as a share; as it is, where the level before was 0. */
export function changeOf({ before, after }: { before: number; after: number }): string {
  const change = before === 0 ? after : (100 * (after - before)) / Math.abs(before);
  const size = before === 0 ? String(Math.abs(change)) : `${Math.abs(change).toFixed(1)}%`;
  return `${after > before ? "+" : "−"}${size}`;
}

export function Verdict({ is }: { is: string }) {
  if (is !== "better" && is !== "worse") return null;
  return <span class={`verdict ${is}`}>{is === "better" ? "▲ better " : "▼ worse "}</span>;
}
