// Two groups of runs side by side: whether that is fair, where the time went, what surely differs, and how it looked.

import { useEffect } from "preact/hooks";
import { ApiError, embedded, lists, offline, useAnswer } from "../api";
import { asked } from "../compare/asked";
import { Charts } from "../compare/charts";
import { Facts } from "../compare/facts";
import { AllGroups, LETTERS, MoreChooser, useMore } from "../compare/more";
import { Chooser, Gate, Groups, Share } from "../compare/head";
import { Offers } from "../compare/offers";
import { type Comparison, titles } from "../compare/types";
import { Verdicts } from "../compare/verdicts";
import { Empty, Failure, Pending } from "../parts";
import { link } from "../router";
import { Navigation } from "../sections";
import { WhereTheTimeWent } from "../split";
import type { Page } from ".";
import "../compare/compare.css";

export const compare: Page = { path: "/compare", title: "Compare", View: ComparePage };

function ComparePage({ query }: { query: URLSearchParams }) {
  const ready = Boolean(query.get("a") && query.get("b"));
  const one = query.get("a") ?? query.get("b");
  const answer = useAnswer("compare", ready ? asked(query) : null);
  const found = answer.data;
  const { answers } = useMore(query, ready);
  useEffect(() => {
    if (!embedded && found) document.title = `${titles(found).join(" and ")} · Fenxi`;
  }, [found]);
  return (
    <>
      <div class="top">
        <h1>{found && ready ? titles(found).join(" and ") : "Compare"}</h1>
        {!offline && <Chooser query={query} labels={found ? [...found.a.labels, ...found.b.labels] : []} />}
        {found && ready && <MoreChooser query={query} />}
        {found && ready && <Groups found={found} />}
        {found && ready && <Share found={found} address={link("/compare", lists(query))} />}
      </div>
      {found && ready && <Navigation sections={sections(found)} />}
      <main id="main" tabIndex={-1} aria-busy={answer.stale ? "true" : undefined}>
        {!ready && (
          <Empty title={one ? "With which runs?" : "Which groups?"}>
            {one && !offline && <Offers run={one} />}
            <p>
              A group is one run or several that repeat the same thing: a name, a label such as <code>kernel=6.18</code>, <code>@1</code>{" "}
              for the latest run, or several separated by commas.
            </p>
            <p>
              Significance needs at least four runs in each group. Runs can also be picked in <a href="/">the list of runs</a>.
            </p>
          </Empty>
        )}
        {answer.error && <Failure error={answer.error} />}
        {ready && !found && !answer.error && <Pending what="Comparing" />}
        {found && ready && !answer.error && <Body found={found} query={query} answers={answers} />}
      </main>
      <footer>
        {embedded ? `${embedded.generator}. ` : ""}The run is the unit of replication: samples within a run are not independent.
      </footer>
    </>
  );
}

function sections(found: Comparison) {
  const all = [{ id: "gate", title: "Validity" }];
  if (found.split) all.push({ id: "split", title: "Time" });
  if (found.comparison)
    all.push({ id: "verdicts", title: "Verdicts" }, { id: "charts", title: "Over time" }, { id: "facts", title: "Facts" });
  return all;
}

/** `2%`, `0.02`; 2% where there is none. */
export function marginOf(text: string | null): number {
  const value = text?.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text ?? NaN);
  return value >= 0 && value < 1 ? value : 0.02;
}

interface BodyProps {
  found: Comparison;
  query: URLSearchParams;
  /** Further groups compared with A. */
  answers: (Comparison | ApiError | undefined)[];
}

function Body({ found, query, answers }: BodyProps) {
  const more = answers.filter((one): one is Comparison => !!one && !(one instanceof ApiError));
  // Bars of all groups: their runs with commas between them are one group each.
  const groups = [found.a, found.b, ...more.map((m) => m.b)].map((g) => g.runs.map((r) => r.id).join(","));
  const all = useAnswer("explain", more.length > 0 ? { run: groups } : null).data?.split;
  const split = more.length > 0 ? (all ?? found.split) : found.split;
  return (
    <>
      <Gate found={found} />
      <AllGroups found={found} query={query} answers={answers} />
      {split && <WhereTheTimeWent split={split} names={[...LETTERS].slice(0, split.whole.means.length)} />}
      {found.comparison && <Verdicts found={found.comparison} query={query} margin={marginOf(query.get("margin"))} />}
      {found.comparison && <Charts found={found} more={more} query={query} />}
      {found.comparison && <Facts facts={found.comparison.facts} />}
    </>
  );
}
