// Who uses the machine now: the processes with most CPU time in the last seconds.

import type { Stream } from "./data";
import { Sparkline } from "../sparkline";
import { human, MISSING } from "../units";

/** So many are listed. */
const LISTED = 8;
/** Ticks over which CPU time is averaged: one second alone would let the list jump. */
const TICKS = 5;

export interface Busy {
  name: string;
  pid: string;
  user: string;
  /** Percent of one CPU over the last ticks. */
  cpu: number;
  rss: number | null;
  values: Stream["values"];
}

/** The busiest processes, most CPU time first; those that used none are left out. */
export function busiest(streams: Stream[]): Busy[] {
  const of = (column: string) => new Map(streams.filter((s) => s.table === "process" && s.column === column).map((s) => [s.label, s]));
  const rss = of("rss_bytes");
  const all = [...of("cpu")].map(([label, stream]) => {
    // A process without a row in a second used no CPU then.
    const recent = stream.values.slice(-TICKS).map((v) => v ?? 0);
    const parts = /^(?:(\d+),)?(.*?)(?:,([^,]*))?$/s.exec(label);
    const [pid, name, user] = [parts?.[1] ?? "", parts?.[2] ?? label, parts?.[3] ?? ""];
    const memory = (rss.get(label)?.values ?? []).reduce((last, v) => v ?? last, null);
    return { name, pid, user, cpu: recent.reduce((a, b) => a + b, 0) / Math.max(1, recent.length), rss: memory, values: stream.values };
  });
  return all
    .filter((p) => p.cpu > 0)
    .sort((a, b) => b.cpu - a.cpu)
    .slice(0, LISTED);
}

export function Processes({ streams }: { streams: Stream[] }) {
  const rows = busiest(streams);
  if (!streams.some((s) => s.table === "process")) return null;
  return (
    <section class="panel live-processes">
      <h3>Who uses the CPU?</h3>
      {rows.length === 0 ? (
        <p class="quiet">No process used CPU time in the last seconds.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="busiest processes">
          <table>
            <thead>
              <tr>
                <th>process</th>
                <th class="num">pid</th>
                <th>user</th>
                <th class="num" title="percent of one CPU, mean of the last five seconds">
                  CPU
                </th>
                <th class="num">memory</th>
                <th>so far</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((p) => (
                <tr key={`${p.name} ${p.pid}`}>
                  <td>{p.name}</td>
                  <td class="num">{p.pid || MISSING}</td>
                  <td>{p.user || MISSING}</td>
                  <td class="num strong">{human(p.cpu, "%")}</td>
                  <td class="num">{human(p.rss, "B")}</td>
                  <td>
                    <Sparkline values={p.values} unit="%" width={150} height={22} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
