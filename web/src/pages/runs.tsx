// The runs of the store: found by text, labels, parameters, host and date; compared by the results of one's choice.

import { useState } from "preact/hooks";
import { lists, useAnswer } from "../api";
import { Empty, Failure, Pending } from "../parts";
import { link, refine } from "../router";
import { PickBar } from "../runs/actions";
import { Filters } from "../runs/filters";
import { listed, type Listed, PAGE, pageOf, telling } from "../runs/list";
import { RunTable } from "../runs/table";
import { useWritable } from "../shell";
import { Upload } from "../runs/upload";
import type { Page } from ".";
import { plural } from "../units";

export const runs: Page = { path: "/", title: "Runs", View: RunsPage };

function RunsPage({ query }: { query: URLSearchParams }) {
  const answer = useAnswer("runs", listed(query));
  const writable = useWritable();
  const [picked, setPicked] = useState<ReadonlyMap<string, Listed>>(new Map());
  const list = answer.data;
  const columns = query.has("col") ? query.getAll("col") : telling(list?.results ?? []);
  const pick = (rows: Listed[], on: boolean) => {
    const next = new Map(picked);
    for (const row of rows) on ? next.set(row.id, row) : next.delete(row.id);
    setPicked(next);
  };
  const filtered = ["where", "text", "host", "since", "until"].some((name) => query.get(name));
  const page = pageOf(query);
  // Filters come with the rows, for they offer what the store has: nothing moves when it is known.
  const known = answer.error || (list && (list.total > 0 || filtered));
  return (
    <main id="main" tabIndex={-1}>
      <div class="page-head">
        <h1>Runs</h1>
        {list && <span class="quiet">{plural(list.total, "run")}</span>}
        <div class="page-tools">{writable && <Upload />}</div>
      </div>
      {known && <Filters query={query} list={list} columns={columns} />}
      {answer.error && <Failure error={answer.error} />}
      {!list && !answer.error && <Pending what="Reading the store" />}
      {list && list.total === 0 && (filtered ? <NoneFits /> : <FirstRun />)}
      {list && list.total > 0 && (
        <RunTable
          rows={list.rows}
          columns={columns}
          hosts={list.hosts.length > 1}
          spark={query.get("spark")}
          sort={{ by: query.get("sort") ?? "start", down: query.has("sort") ? query.get("desc") === "true" : true }}
          picked={picked}
          onPick={pick}
        />
      )}
      {list && list.total > PAGE && <Pager page={page} total={list.total} query={query} />}
      {picked.size > 0 && <PickBar picked={[...picked.values()]} writable={writable} onClear={() => setPicked(new Map())} />}
    </main>
  );
}

function Pager({ page, total, query }: { page: number; total: number; query: URLSearchParams }) {
  const last = Math.ceil(total / PAGE);
  const to = (n: number) => link("/", { ...lists(query), page: n > 1 ? n : null });
  return (
    <nav class="pager" aria-label="pages of the list">
      {page > 1 && <a href={to(page - 1)}>‹ previous</a>}
      <span>{`${((page - 1) * PAGE + 1).toLocaleString("en")} – ${Math.min(total, page * PAGE).toLocaleString("en")} of ${total.toLocaleString("en")}`}</span>
      {page < last && <a href={to(page + 1)}>next ›</a>}
    </nav>
  );
}

function NoneFits() {
  const clear = () => refine({ where: null, text: null, host: null, since: null, until: null, page: null }, true);
  return (
    <Empty title="No matching runs">
      <p>
        No run in this store matches all filters.{" "}
        <button type="button" class="plain" onClick={clear}>
          Show all runs
        </button>
      </p>
    </Empty>
  );
}

function FirstRun() {
  return (
    <Empty title="This store has no runs yet">
      <p>Record this machine for half a minute, or while a command runs:</p>
      <pre>{"fenxi record --name first --for 30s\nfenxi record --name build -- make -j8"}</pre>
      <p>Or import the output of other tools; files can also be dropped here:</p>
      <pre>{"fenxi import sar.txt vmstat.txt --name monday"}</pre>
    </Empty>
  );
}
