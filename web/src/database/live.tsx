// Databases as they work: servers that the person who started `fenxi serve` named, and no others.

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { paint, partOf } from "../activity";
import { LiveChart } from "../live/chart";
import { Empty } from "../parts";
import { link, refine } from "../router";
import { colour, theme, useShared, zone } from "../shared";
import { human, moment, words } from "../units";
import { Trees } from "./blocking";
import { ChipsOf, DimensionPicker, Steps } from "./filters";
import {
  chartOf,
  figuresOf,
  type TimedReading,
  type ServerReading,
  takeAll,
  topsOf,
  treesOf,
  type Watched,
  within,
  worst,
} from "./readings";
import { listed, type Looked, looked } from "./state";
import { TITLES, TopRows } from "./tops";

const SPANS = [60, 120, 300, 900];
const UNITS: Record<string, string> = {
  transactions_per_s: "/s",
  statements_per_s: "/s",
  cache_hit: "%",
  reads_per_s: "/s",
  log_bytes_per_s: "B/s",
  temp_bytes_per_s: "B/s",
  oldest_transaction_s: "s",
};

type Range = [number, number];

/** The servers, by name. */
function useDatabases(): { servers: Map<string, Watched>; turn: number; error: string; lost: boolean } {
  const servers = useRef(new Map<string, Watched>());
  const [error, setError] = useState("");
  const [lost, setLost] = useState(false);
  const [turn, move] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const events = new EventSource(link("/api/v1/live", { source: "db" }));
    events.onopen = () => setLost(false);
    events.onerror = () => setLost(true);
    events.addEventListener("database", (e) => {
      takeAll(servers.current, JSON.parse((e as MessageEvent<string>).data) as ServerReading[]);
      move(0);
    });
    events.addEventListener("failed", (e) => {
      setError((JSON.parse((e as MessageEvent<string>).data) as { error: string }).error);
      events.close();
    });
    return () => events.close();
  }, []);
  return { servers: servers.current, turn, error, lost };
}

/** What a server is, in a few words: versions carry compilers and packages. */
function versionOf({ vendor, version }: TimedReading): string {
  const short = version.replace(/ \(.*| on .*|-.*/, "");
  return short.startsWith(vendor) ? short : `${vendor} ${short}`.trim();
}

/** What is watched, as it was when it was stopped. */
const copyOf = (watched: Watched): Watched => ({ ...watched, readings: [...watched.readings], texts: new Map(watched.texts) });

export function LiveDatabases({ query }: { query: URLSearchParams }) {
  const state = looked(query);
  const span = Number(query.get("span")) || 120;
  const { servers, turn, error, lost } = useDatabases();
  const [frozen, setFrozen] = useState<Watched | null>(null);
  const name = state.server && servers.has(state.server) ? state.server : [...servers.keys()].sort()[0];
  const now = name === undefined ? undefined : servers.get(name);
  const watched = frozen && frozen.server === name ? frozen : now;
  const last = watched?.readings[watched.readings.length - 1];
  useEffect(() => {
    document.title = `Databases now · Fenxi`;
  }, []);
  return (
    <main id="main" tabIndex={-1} class="database">
      <div class="page-head">
        <h1>{name === undefined ? "Databases now" : `Database ${name} now`}</h1>
        <span class="quiet" role="status">
          {lost
            ? "the server does not respond; retrying"
            : last
              ? [versionOf(last), last.cpus === null ? "" : `${last.cpus} CPUs`].filter(Boolean).join(", ")
              : error
                ? "not connected"
                : "connecting"}
        </span>
        <div class="page-tools">
          <a class="plain" href="/live">
            The machine
          </a>
          <Servers servers={servers} name={name} />
          <select aria-label="time range shown" value={span} onChange={(e) => refine({ span: e.currentTarget.value })}>
            {SPANS.map((s) => (
              <option key={s} value={s}>{`last ${s / 60} min`}</option>
            ))}
          </select>
          <button type="button" class="plain" aria-pressed={frozen !== null} onClick={() => setFrozen(frozen || !now ? null : copyOf(now))}>
            {frozen ? "Go on" : "Pause"}
          </button>
        </div>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {now?.trouble && (
        <p class="error" role="alert">
          {`${now.server} is not seen at the moment: ${now.trouble}`}
        </p>
      )}
      {watched && last && <Seen watched={watched} last={last} state={state} span={span} turn={turn} />}
      {!watched && !error && !lost && (
        <Empty title="Connecting to the databases">
          <p>The first figures come after two readings.</p>
        </Empty>
      )}
    </main>
  );
}

function Servers({ servers, name }: { servers: Map<string, Watched>; name: string | undefined }) {
  if (servers.size < 2) return null;
  return (
    <select aria-label="server" value={name} onChange={(e) => refine({ server: e.currentTarget.value }, true)}>
      {[...servers.keys()].sort().map((server) => (
        <option key={server} value={server}>
          {server}
        </option>
      ))}
    </select>
  );
}

interface SeenProps {
  watched: Watched;
  last: TimedReading;
  state: Looked;
  span: number;
  turn: number;
}

function Seen({ watched, last, state, span, turn }: SeenProps) {
  useShared(theme);
  useShared(zone);
  const [range, setRange] = useState<Range | null>(null);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => e.key === "Escape" && setRange(null);
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const shown = within(watched.readings, range ?? [last.t - span, last.t]);
  const { by, filters } = state;
  const chart = chartOf(watched, by, filters);
  // The chart stacks from the top: what is the machine's lies below.
  chart.streams.reverse();
  chart.ids.reverse();
  const all = by === "class" && Object.keys(filters).length === 0;
  const paints = chart.ids.map((id, i) => (by === "class" ? paint(partOf(id) ?? "") : colour(i)));
  const blocked = range ? worst(shown) : last.locks.length > 0 ? last : undefined;
  return (
    <>
      <Figures readings={range ? shown : [last]} />
      <section>
        <h2>Active sessions</h2>
        <div class="db-bar">
          <DimensionPicker state={state} />
          {range && (
            <button type="button" class="plain zoom-reset" onClick={() => setRange(null)} title="Follow the present (Escape)">
              {range.map((t) => moment(t * 1000).slice(11, 19)).join(" – ")} ✕
            </button>
          )}
        </div>
        <ChipsOf state={{ ...state, at: null }} text={watched.texts.get(filters.statement ?? "") ?? null} />
        <LiveChart
          key={by}
          title={all ? "How many sessions are active, and in what?" : `Active sessions by ${by}`}
          streams={chart.streams}
          data={chart.data}
          turn={turn}
          unit=""
          stacked
          span_s={span}
          wide
          paints={paints}
          limit={last.cpus === null ? undefined : { name: "CPUs", value: last.cpus }}
          meaning={() => undefined}
          range={range}
          onRange={setRange}
        />
        <Steps state={state} machine={[]} />
        <div class="tops">
          {listed(state).map((name) => (
            <section key={name} class="panel top-list" aria-labelledby={`top-${name}`}>
              <h3 id={`top-${name}`}>{TITLES[name]}</h3>
              <List watched={watched} readings={shown} by={name} state={state} />
            </section>
          ))}
        </div>
      </section>
      <section id="section-blocking">
        <h2>Blocking</h2>
        {blocked ? (
          <article class="panel wide">
            <h3>{`Who ${range ? "waited" : "waits"} behind whom at ${moment(blocked.t * 1000).slice(11, 19)}?`}</h3>
            <Trees all={treesOf(watched, blocked)} />
          </article>
        ) : (
          <p class="quiet">
            {range ? "No session was seen waiting for a lock in this time range." : "No session waits for another session's lock."}
          </p>
        )}
      </section>
      <Unseen last={last} />
      <footer>
        Drag over the chart to choose a time range: lists, figures and the tree follow it. Escape follows the present again. Lists are made
        from samples of sessions; a CPU is assumed where no wait was seen. Nothing is kept: <code>fenxi record --db URL</code> does that.
      </footer>
    </>
  );
}

function List({ watched, readings, by, state }: { watched: Watched; readings: TimedReading[]; by: Looked["by"]; state: Looked }) {
  const rows = topsOf(watched, readings, by, state.filters);
  if (rows.length === 0) return <p class="quiet">No session at work was seen in this time range.</p>;
  return <TopRows rows={rows} by={by} state={state} />;
}

function Figures({ readings }: { readings: TimedReading[] }) {
  return (
    <section class="db-figures" aria-label="key figures">
      <div class="tiles">
        {figuresOf(readings).map(([name, value]) => (
          <div class="tile" key={name}>
            <div class="tile-name">{words(name, UNITS[name] ?? "")}</div>
            <div class="tile-value">{human(value, UNITS[name] ?? "")}</div>
          </div>
        ))}
      </div>
    </section>
  );
}

/** What the server did not let us see. */
function Unseen({ last }: { last: TimedReading }) {
  if (last.notes.length === 0 && last.left_out === 0) return null;
  return (
    <details>
      <summary>What cannot be seen</summary>
      <ul>
        {last.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
        {last.left_out > 0 && <li>{`${human(last.left_out, "")} sessions are in no list: there are too many.`}</li>}
      </ul>
    </details>
  );
}
