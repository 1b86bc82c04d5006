// SQL over runs: begin with a question or with nothing, draw the answer as one likes, keep it as a question of one's own.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change, changed, offline, request, useAnswer } from "../api";
import type { Header, SectionName } from "../api.gen";
import { askedOf, type Asked, DEFAULT_RUN, requestOf, useAsked, writeAsked } from "../ask/asking";
import { ChartSettings, ParamFields, SaveDialog } from "../ask/settings";
import { sheetOf } from "../charts/sheet";
import { TakeAway } from "../charts/takeaway";
import { Dialog } from "../dialog";
import { SqlField } from "../ask/field";
import { Empty, Failure, Pending } from "../parts";
import { Drawing } from "../panel";
import { QuestionList } from "../ask/questions";
import { refine } from "../router";
import { RunPicker } from "../ask/runpicker";
import { useWritable } from "../shell";
import { duration } from "../units";
import type { Page } from ".";

export const ask: Page = { path: "/ask", title: "Ask", View: AskPage };

function AskPage({ query }: { query: URLSearchParams }) {
  const questions = useAnswer("questions", {});
  const known = questions.data?.questions ?? [];
  if (query.get("question") && !query.get("q") && !questions.data) {
    return (
      <main id="main" tabIndex={-1}>
        {questions.error ? <Failure error={questions.error} /> : <Pending what="Reading the questions" />}
      </main>
    );
  }
  return <Asking query={query} known={known} sections={questions.data?.sections ?? []} />;
}

function Asking({ query, known, sections }: { query: URLSearchParams; known: Header[]; sections: SectionName[] }) {
  const asked = useMemo(() => askedOf(query, known), [query, known]);
  // What is being written; it becomes the address when it is run.
  const [draft, setDraft] = useState(asked);
  useEffect(() => setDraft(asked), [asked]);
  const [dialog, setDialog] = useState<"save" | Header | null>(null);
  const writable = useWritable();
  const base = known.find((q) => q.id === draft.question);
  const shownBase = known.find((q) => q.id === asked.question);
  const wanted = requestOf(asked, shownBase);
  const running = useAsked(wanted, asked.sql);
  const submit = (next: Asked = draft) => {
    setDraft(next);
    const before = location.search;
    writeAsked(next, known);
    if (location.search === before) running.again();
  };
  const choose = (q: Header) =>
    refine(
      {
        question: q.id,
        q: null,
        chart: null,
        x: null,
        y: null,
        series: null,
        unit: null,
        ...Object.fromEntries([...query.keys()].filter((k) => k.startsWith("p.")).map((k) => [k, null])),
      },
      true,
    );
  const runs = asked.run.length > 0 ? asked.run : [DEFAULT_RUN];
  return (
    <main id="main" tabIndex={-1} class="ask">
      <h1 class="unseen">Ask</h1>
      {!offline && (
        <QuestionList
          questions={known}
          sections={sections}
          chosen={draft.question}
          onChoose={choose}
          onDelete={writable ? setDialog : undefined}
        />
      )}
      <div class="ask-main">
        {base && (
          <p class="about">
            <strong>{base.title}</strong> {base.about}
          </p>
        )}
        {offline ? (
          <pre class="sql-text" tabIndex={0}>
            {asked.sql}
          </pre>
        ) : (
          <SqlField text={draft.sql} onChange={(sql) => setDraft((d) => ({ ...d, sql }))} onRun={() => submit()} />
        )}
        {!offline && (
          <form
            class="ask-bar"
            onSubmit={(e) => {
              e.preventDefault();
              submit();
            }}
          >
            <button type="submit" class="act" title="Control-Enter">
              Run
            </button>
            <RunPicker chosen={draft.run} otherwise="last run" onChange={(run) => submit({ ...draft, run })} />
            <ChartSettings asked={draft} onChange={submit} />
            <ParamFields asked={draft} base={base} onChange={submit} />
            <span class="ask-end">
              {asked.sql && (
                <a class="plain" download href={request("sql", { q: asked.sql, run: runs, format: "csv" })}>
                  CSV
                </a>
              )}
              {writable && draft.sql.trim() && (
                <button type="button" class="plain" onClick={() => setDialog("save")}>
                  Save as question
                </button>
              )}
            </span>
          </form>
        )}
        <Result running={running} runs={runs} asked={asked} />
      </div>
      {dialog === "save" && (
        <SaveDialog
          asked={draft}
          base={base}
          sections={sections}
          onClose={() => setDialog(null)}
          onSaved={(name) => refine({ question: name, q: null, chart: null, x: null, y: null, series: null, unit: null }, true)}
        />
      )}
      {dialog !== null && dialog !== "save" && (
        <Dialog
          title={`Delete the question ${dialog.title}?`}
          act="Delete"
          danger
          onClose={() => setDialog(null)}
          onAct={() => change("DELETE", `questions/${encodeURIComponent(dialog.id)}`).then(changed)}
        >
          <p>Future reports will not include it. Runs are not affected.</p>
        </Dialog>
      )}
    </main>
  );
}

function Result({ running, runs, asked }: { running: ReturnType<typeof useAsked>; runs: string[]; asked: Asked }) {
  // Charts name runs and their start; what a run is comes from the same answer as on its page.
  const opened = useAnswer("run", asked.sql ? { run: runs } : null).data;
  const drawing = useRef<HTMLDivElement>(null);
  const { panel, error, pending, cancelled, size, took_ms } = running;
  if (!asked.sql) {
    return (
      <Empty title="Ask anything of the runs">
        <p>
          Start from a question in the list, or write SQL: every table of a run is a view, and the editor completes table and column names.
        </p>
        <pre>{"SELECT cpu, avg(usr + sys) AS busy\nFROM cpu\nGROUP BY cpu ORDER BY busy DESC"}</pre>
      </Empty>
    );
  }
  const drawable = panel && (opened || panel.table);
  return (
    <section class="answer" aria-label="answer" aria-busy={pending ? "true" : undefined}>
      <div class="answer-head">
        {pending ? (
          <Pending what="Running" stop={running.cancel} />
        ) : (
          <p class="quiet" role="status">
            {cancelled ? "Cancelled." : error ? "" : [size, took_ms !== undefined && duration(took_ms / 1000)].filter(Boolean).join(" · ")}
          </p>
        )}
        {panel && !pending && !error && (
          <TakeAway
            title={panel.title}
            chart={panel.quiet ? undefined : drawing}
            rows={() => sheetOf(panel, opened?.runs ?? [])}
            sql={asked.sql}
          />
        )}
      </div>
      {error && <Failure error={error} />}
      {panel &&
        !error &&
        (panel.quiet ? (
          <p class="quiet">{panel.quiet === "zero" ? "All values are zero." : "There are no rows."}</p>
        ) : (
          drawable && (
            <div ref={drawing}>
              <Drawing panel={panel} runs={opened?.runs ?? []} />
            </div>
          )
        ))}
    </section>
  );
}
