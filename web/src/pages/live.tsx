// The machine as it is now, or a recording while it is made.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, type Endpoint, useAnswer } from "../api";
import type { Answers, Status } from "../api.gen";
import type { Catalogue } from "../ask/field";
import { LiveChart } from "../live/chart";
import { Processes } from "../live/processes";
import { type LiveData, type LiveQuestion, pick, type Stream, useLive } from "../live/data";
import { Empty } from "../parts";
import { link, refine } from "../router";
import { useShared, zone } from "../shared";
import { Sparkline } from "../sparkline";
import { human, moment, plural, words } from "../units";
import type { Page } from ".";

export const live: Page = { path: "/live", title: "Live", View: LivePage };

/** How often it is looked whether a recording has begun or ended. */
const STATUS_MS = 2000;
const SPANS = [60, 120, 300, 900];

function LivePage({ query }: { query: URLSearchParams }) {
  const run = query.get("run");
  const span = Number(query.get("span")) || 120;
  const source = run ? null : query.get("source");
  const { data, turn, connection, error } = useLive(run, source);
  const [frozen, setFrozen] = useState<LiveData | null>(null);
  const status = usePolled("status", STATUS_MS);
  const catalogue = useAnswer("catalogue", {}).data;
  const questions = useAnswer("questions", {}).data?.questions ?? [];
  const units = useMemo(() => meanings(catalogue), [catalogue]);
  const shown = frozen ?? data;
  const streams = [...shown.streams.values()];
  const asked = questions.filter((q): q is typeof q & LiveQuestion => Boolean(q.live));
  const charts = asked.map((q) => ({ ...q, streams: pick(streams, q) })).filter((c) => c.streams.length > 0);
  const charted = new Set(charts.flatMap((c) => c.streams.map((s) => s.key)));
  for (const s of streams) if (s.table === "process" && !run) charted.add(s.key);
  // The list of processes comes before the charts.
  const beside = streams.some((s) => s.table === "process") ? 1 : 0;
  return (
    <main id="main" tabIndex={-1}>
      <div class="page-head">
        <h1>
          {run ? `Recording ${status?.recordings.find((r) => r.id === run)?.name ?? run}` : `${status?.machine ?? "This machine"} now`}
        </h1>
        <span class="quiet" role="status">
          {run && connection === "open" ? "as it is recorded" : WORDS[connection]}
        </span>
        <div class="page-tools">
          {!run && status?.sources.some((s) => s.name === "db") && (
            <a class="plain" href="/database">
              Databases
            </a>
          )}
          {!run && <Sources status={status} chosen={source} />}
          <select aria-label="time range shown" value={span} onChange={(e) => refine({ span: e.currentTarget.value })}>
            {SPANS.map((s) => (
              <option key={s} value={s}>{`last ${s / 60} min`}</option>
            ))}
          </select>
          <button type="button" class="plain" aria-pressed={frozen !== null} onClick={() => setFrozen(frozen ? null : copyOf(data))}>
            {frozen ? "Go on" : "Pause"}
          </button>
        </div>
      </div>
      <Recordings status={status} run={run} />
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {streams.length === 0 && connection === "lost" && (
        <Empty title="No data from the server">
          <p>
            It is tried again every few seconds; is <code>fenxi serve</code> still running?
          </p>
        </Empty>
      )}
      {shown.leftOut > 0 && <p class="quiet">{`${plural(shown.leftOut, "value")} of each second are left out: there are too many.`}</p>}
      <div class="panels">
        <Processes streams={streams} />
        {charts.map((c, i) => (
          <LiveChart
            key={c.id}
            title={c.title}
            streams={c.streams}
            data={shown}
            turn={turn}
            unit={units(c.streams[0])?.unit ?? ""}
            stacked={c.chart === "stacked"}
            span_s={span}
            wide={i === charts.length - 1 && (i + beside) % 2 === 0}
            meaning={(s) => (c.live.columns.some((l) => l.name === s.column && l.complement) ? undefined : units(s)?.doc)}
          />
        ))}
      </div>
      {streams.length > 0 && <Everything streams={streams.filter((s) => !charted.has(s.key))} units={units} />}
    </main>
  );
}

const WORDS: Record<string, string> = {
  connecting: "connecting",
  open: "one value per second",
  lost: "the server does not respond; retrying",
  ended: "the recording has ended",
};

const copyOf = (data: LiveData): LiveData => ({
  ...data,
  times: [...data.times],
  streams: new Map([...data.streams].map(([k, s]) => [k, { ...s, values: [...s.values] }])),
});

/** What a series means, from the catalogue. */
function meanings(catalogue: Catalogue | undefined) {
  const columns = new Map((catalogue?.tables ?? []).flatMap((t) => t.columns.map((c) => [`${t.name}.${c.name}`, c] as const)));
  return (s: Stream) => columns.get(`${s.table}.${s.column}`);
}

/** Asks again and again while the page is shown. */
function usePolled<P extends Endpoint>(path: P, every_ms: number): Answers[P] | undefined {
  const [answer, setAnswer] = useState<Answers[P]>();
  useEffect(() => {
    const stop = new AbortController();
    const look = () => ask(path, {}, stop.signal).then(setAnswer, () => undefined);
    void look();
    const timer = setInterval(look, every_ms);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, []);
  return answer;
}

/** Which source of this machine is watched. */
function Sources({ status, chosen }: { status: Status | undefined; chosen: string | null }) {
  const others = (status?.sources ?? []).filter((s) => !s.live);
  const current = others.find((s) => s.name === chosen);
  return (
    <select
      aria-label="source watched"
      title={current?.summary}
      value={chosen ?? ""}
      onChange={(e) => refine({ source: e.currentTarget.value || null }, true)}
    >
      <option value="">the whole machine</option>
      {chosen && !current && <option value={chosen}>{chosen}</option>}
      {others.map((s) => (
        <option key={s.name} value={s.name} title={s.summary}>
          {s.name}
        </option>
      ))}
    </select>
  );
}

function Recordings({ status, run }: { status: Status | undefined; run: string | null }) {
  useShared(zone);
  const open = status?.recordings ?? [];
  if (open.length === 0 && !run) return <p class="quiet">No recording is in progress in this store.</p>;
  return (
    <p class="recordings">
      {run ? (
        <a href="/live">this machine now</a>
      ) : (
        <span class="quiet">{open.length > 1 ? "recordings in progress:" : "recording in progress:"}</span>
      )}
      {open.map((r) => (
        <a
          key={r.id}
          href={link("/live", { run: r.id })}
          aria-current={r.id === run ? "true" : undefined}
        >{`${r.name || r.id}, since ${moment(r.start_ms)}`}</a>
      ))}
    </p>
  );
}

const ROWS = 60;

/** Every other series with its present value and shape. */
function Everything({ streams, units }: { streams: Stream[]; units: ReturnType<typeof meanings> }) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const found = streams.filter((s) => s.key.toLowerCase().includes(wanted) && (wanted || s.values.some((v) => v)));
  return (
    <section>
      <h2>Everything else</h2>
      <input
        class="wide-search"
        type="search"
        placeholder={`find in ${streams.length} series`}
        aria-label="find a series"
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <div class="scroll" tabIndex={0} role="region" aria-label="other series">
        <table>
          <thead>
            <tr>
              <th>table</th>
              <th>of</th>
              <th>series</th>
              <th class="num">now</th>
              <th>so far</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, ROWS).map((s) => {
              const column = units(s);
              return (
                <tr key={s.key} title={column?.doc}>
                  <td>{s.table}</td>
                  <td>{s.label}</td>
                  <td>{words(s.column, column?.unit)}</td>
                  <td class="num">{human(s.values[s.values.length - 1], column?.unit ?? "")}</td>
                  <td>
                    <Sparkline values={s.values} unit={column?.unit ?? ""} width={140} height={22} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {found.length > ROWS && (
        <p class="quiet">{`${found.length - ROWS} more; type to search. Series that are always zero are listed only when searched for.`}</p>
      )}
    </section>
  );
}
