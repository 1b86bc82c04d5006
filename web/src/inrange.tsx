// What is different in the time range that is shown: the change of every series against the rest of the run, what changed most first.

import { useState } from "preact/hooks";
import { useAnswer } from "./api";
import type { InRange, RangeChange } from "./api.gen";
import { TakeAway } from "./charts/takeaway";
import { Failure, Pending } from "./parts";
import type { Run } from "./payload";
import { changeOf } from "./rangechange";
import { settled, useShared } from "./shared";
import { clock, human, words } from "./units";

/** So many stand in sight at first. */
const FIRST = 12;
/** So many sentences about what the changes say together. */
const CAUSES = 3;

/** The section; null while all of the run is shown. A range of several runs has no rest to be compared with. */
export function Different({ runs }: { runs: Run[] }) {
  const range = useShared(settled);
  const [run] = runs;
  const asked = range && runs.length === 1 ? { run: run.id, from: round(range[0]), to: round(range[1]) } : null;
  const answer = useAnswer("range", asked);
  if (!asked) return null;
  return (
    <section id="section-different" aria-busy={answer.stale ? "true" : undefined}>
      <h2>{`Different from ${clock(asked.from, true)} to ${clock(asked.to, true)}`}</h2>
      {answer.error && <Failure error={answer.error} />}
      {!answer.data && !answer.error && <Pending what="Comparing the range with the rest of the run" />}
      {answer.data && <Changes found={answer.data} />}
    </section>
  );
}

const round = (s: number) => Math.round(s * 1000) / 1000;

function Changes({ found }: { found: InRange }) {
  const [all, setAll] = useState(false);
  const sure = found.changed.filter((c) => c.sure);
  const unsure = found.changed.filter((c) => !c.sure);
  const shown = all ? sure : sure.slice(0, FIRST);
  return (
    <div class="panel wide">
      {found.causes.slice(0, CAUSES).map((cause) => (
        <p key={cause.finding} title={cause.advice}>
          <strong>{`${cause.title}.`}</strong> {cause.message}
        </p>
      ))}
      <div class="panel-head">
        <p class="about">
          {sure.length > 0
            ? `Of ${found.looked.toLocaleString("en")} series those that changed most against the rest of the run, first what fewer transactions cannot have caused. The test allows for samples that depend on their neighbours; that the range was chosen by eye it cannot know.`
            : `None of ${found.looked.toLocaleString("en")} series differs from the rest of the run by more than it wanders anyway.`}
        </p>
        <TakeAway title="what is different" rows={() => sheet(found)} />
      </div>
      {sure.length > 0 && <Table rows={shown} />}
      <div class="table-foot">
        {sure.length > shown.length && (
          <button type="button" class="plain" onClick={() => setAll(true)}>{`Show all ${sure.length}`}</button>
        )}
        {found.more > 0 && sure.length > 0 && <span class="quiet">{`${found.more.toLocaleString("en")} more series like these`}</span>}
      </div>
      {unsure.length > 0 && (
        <details class="nothing">
          <summary>{`${unsure.length} that may be chance`}</summary>
          <Table rows={unsure} />
        </details>
      )}
    </div>
  );
}

const nameOf = (c: RangeChange) => (c.table === "resource" ? c.key : `${c.table}.${c.column}`);

function Table({ rows }: { rows: RangeChange[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="what is different">
      <table>
        <thead>
          <tr>
            <th>what</th>
            <th class="num">in the range</th>
            <th class="num">rest of the run</th>
            <th class="num">change</th>
            <th title="How surely a value shows on which side it was: Cliff's delta">apart</th>
            <th class="num minor" title="How seldom chance gives as much, adjusted for the number of series">
              adjusted p
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((c) => (
            <tr key={`${c.table} ${c.column} ${c.key}`}>
              <th scope="row" title={c.doc}>
                {words(nameOf(c), c.unit)}
                {c.table !== "resource" && c.key && <span class="key-of">{c.key}</span>}
              </th>
              <td class="num strong">{human(c.inside, c.unit)}</td>
              <td class="num">{human(c.rest, c.unit)}</td>
              <td class="num">{changeOf(c)}</td>
              <td>
                <span class="apart">
                  <span style={{ width: `${Math.abs(c.effect) * 100}%` }} />
                </span>
              </td>
              <td class="num minor">{c.p < 0.001 ? "< 0.001" : c.p.toFixed(3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sheet(found: InRange) {
  return {
    head: ["table", "column", "key", "unit", "in the range", "rest", "change", "effect", "adjusted p", "sure"],
    rows: found.changed.map((c) => [c.table, c.column, c.key, c.unit, c.inside, c.rest, c.change ?? null, c.effect, c.p, c.sure]),
  };
}
