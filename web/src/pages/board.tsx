// A board: text that somebody wrote with questions in it, answered for the runs that it names or others.

import { useEffect, useState } from "preact/hooks";
import { embedded, offline, useAnswer, type Values } from "../api";
import type { BoardAnswer, BoardAsks } from "../api.gen";
import { Failure, Empty, Pending } from "../parts";
import { Drawing, PanelView } from "../panel";
import { Markdown } from "../markdown";
import { Picker } from "../compare/picker";
import { link, refine } from "../router";
import { useZoomInLink } from "../zoomlink";
import type { Page } from ".";

export const board: Page = { path: "/board", title: "Boards", View: BoardPage };

function BoardPage({ query }: { query: URLSearchParams }) {
  const name = query.get("name");
  return name ? <OneBoard name={name} query={query} /> : <List />;
}

function List() {
  const answer = useAnswer("boards", {});
  return (
    <main id="main" tabIndex={-1}>
      <h1>Boards</h1>
      {answer.error && <Failure error={answer.error} />}
      {answer.data && answer.data.boards.length > 0 && (
        <ul>
          {answer.data.boards.map((b) => (
            <li key={b.name}>
              <a href={link("/board", { name: b.name })}>{b.title}</a> {b.error && <span class="error">{b.error}</span>}
            </li>
          ))}
        </ul>
      )}
      {answer.data && (
        <Empty title={answer.data.boards.length > 0 ? "Another one" : "No board yet"}>
          <p>
            A board is a file <code>boards/NAME.md</code> in the store: text in Markdown with questions in it. It is drawn for the runs that
            it names, or for those chosen here, and can be kept as one file.
          </p>
          <pre tabIndex={0}>{EXAMPLE}</pre>
        </Empty>
      )}
    </main>
  );
}

const EXAMPLE = `---
title: Orders, every release
run: @1
---
Latency first; below it what the disks did at the same time.

\`\`\`question
load-latency-over-time
over: disk-latency
\`\`\`

\`\`\`question
top-processes
p.n: 5
\`\`\``;

function OneBoard({ name, query }: { name: string; query: URLSearchParams }) {
  const run = query.getAll("run");
  const answer = useAnswer("board", { name, run });
  const found = answer.data;
  useEffect(() => {
    if (!embedded && found) document.title = `${found.title} · Fenxi`;
  }, [found]);
  return (
    <>
      <div class="top">
        <h1>{found?.title ?? name}</h1>
        {found && <Runs found={found} given={run} />}
      </div>
      <main id="main" tabIndex={-1} aria-busy={answer.stale ? "true" : undefined}>
        {answer.error && <Failure error={answer.error} />}
        {!found && !answer.error && <Pending what="Opening the board" />}
        {found && <Blocks found={found} query={query} />}
      </main>
      <footer>{embedded ? `${embedded.generator}.` : ""}</footer>
    </>
  );
}

/** Which runs it is about, others to choose, and the way to keep it. */
function Runs({ found, given }: { found: BoardAnswer; given: string[] }) {
  const [text, setText] = useState(given.join(","));
  const done = () =>
    refine(
      {
        run: text
          .split(",")
          .map((s) => s.trim())
          .filter(Boolean),
      },
      true,
    );
  const own = { name: found.name, run: found.runs.map((r) => r.id) };
  return (
    <div class="filters">
      <span class="quiet">
        {"Runs: "}
        {found.runs.map((r, i) => (
          <span key={r.id}>
            {i > 0 && ", "}
            {offline ? r.name : <a href={link("/run", { run: r.id })}>{r.name}</a>}
          </span>
        ))}
      </span>
      {!offline && <Picker label="Other runs" value={text} onInput={setText} onDone={done} />}
      {!offline && (
        <a class="plain" href={`/api/v1/report?${new URLSearchParams({ page: link("/board", own) })}`} download={`${found.name}.html`}>
          Save as one file
        </a>
      )}
    </div>
  );
}

function Blocks({ found, query }: { found: BoardAnswer; query: URLSearchParams }) {
  useZoomInLink(query, 0, Math.max(0, ...found.runs.map((r) => r.duration_s)));
  return (
    <div class="board">
      {found.blocks.map((block, i) => (
        <div key={i}>
          {block.text && <Markdown text={block.text} />}
          {block.asks && <Asked asks={block.asks} found={found} place={i} />}
        </div>
      ))}
    </div>
  );
}

/** The pairs of a request by name. */
function valuesOf(pairs: string[][]): Values {
  const out: Record<string, string[]> = {};
  for (const [name, value] of pairs) {
    out[name] ??= [];
    out[name].push(value);
  }
  return out;
}

function Asked({ asks, found, place }: { asks: BoardAsks; found: BoardAnswer; place: number }) {
  const answer = useAnswer("panel", asks.error ? null : valuesOf(asks.request));
  const over = useAnswer("panel", asks.over ? valuesOf(asks.over) : null).data;
  const runs = asks.runs.map((i) => found.runs[i]);
  if (asks.error || answer.error)
    return (
      <p class="error" role="alert">
        {asks.error ?? answer.error?.message}
      </p>
    );
  if (!answer.data) return <Pending what="Asking" />;
  const title = asks.title ?? answer.data.title;
  const params = valuesOf(asks.request.filter(([name]) => name.startsWith("p.")));
  if (asks.question) {
    const base = { ...answer.data, title, over: asks.over?.find(([name]) => name === "question")?.[1] ?? answer.data.over };
    return <PanelView base={base} runs={runs} wide={true} params={params} />;
  }
  const panel = { ...answer.data, id: `own-${place}`, title };
  return (
    <article class="panel wide" id={`panel-${panel.id}`}>
      {asks.title && (
        <div class="panel-head">
          <h3>{title}</h3>
        </div>
      )}
      {panel.quiet ? (
        <p class="quiet">No rows, or nothing but zeros.</p>
      ) : (
        <Drawing panel={panel} runs={runs} over={over?.time ? over : undefined} />
      )}
    </article>
  );
}
