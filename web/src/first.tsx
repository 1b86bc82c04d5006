// The first screen of a run: what is wrong, what came out, when it happened and where the time went.

import { useAnswers } from "./api";
import type { Answer, Split } from "./api.gen";
import { Compact } from "./compact";
import { PanelView } from "./panel";
import { Prose } from "./parts";
import type { Header, Panel, Run, Section } from "./payload";
import { WhereTheTimeWent } from "./split";
import { Tiles } from "./summary";

const HEADLINE = "headline";
const LANES = "resource-strip";
/** What happened over time, the first that a run has: the work itself before what it ran on. */
const CHARTS = ["load-throughput", "load-latency-over-time", "db-activity", "cpu-time", "run-queue", "disk-throughput", "memory-breakdown"];
/** So many of them stand on the first screen; beside a split of the time one less. */
const MOST = 3;

/** What the first screen shows of `sections`, by name; it is not shown again below. */
export interface First {
  headline?: Panel;
  lanes?: Panel;
  charts: Panel[];
}

/** Asks for what the first screen shows; null until all of it is known. */
export function useFirst(sections: Section[], runs: Run[]): First | null {
  const has = new Map<string, Header>(sections.flatMap((s) => s.panels.map((p) => [p.id, p] as const)));
  const wanted = [HEADLINE, LANES, ...CHARTS].filter((id) => has.has(id));
  const run = runs.map((r) => r.id);
  const answers = useAnswers(
    "panel",
    wanted.map((question) => ({ question, run })),
  );
  if (answers.length < wanted.length || answers.some((a) => a === undefined)) return null;
  const panels = answers.filter((a): a is Panel => !!a && "id" in a && !a.quiet && !a.error);
  const named = (id: string) => panels.find((p) => p.id === id);
  const charts = CHARTS.flatMap((id) => named(id) ?? []).slice(0, MOST);
  return { headline: named(HEADLINE), lanes: named(LANES), charts };
}

/** What it shows, so that nothing is twice on the page. */
export const shownFirst = (first: First | null, isSplit: boolean): Set<string> =>
  new Set(
    first ? [first.headline, first.lanes, ...first.charts.slice(0, isSplit ? MOST - 1 : MOST)].flatMap((p) => (p ? [p.id] : [])) : [],
  );

const WORDS: Record<Answer["names"], string> = {
  bottleneck: "Bottleneck",
  symptom: "Symptom",
  nothing: "No bottleneck",
  unknown: "Cause not known",
};

/** The answer in a sentence, with what is behind it. */
export function TheAnswer({ answer }: { answer: Answer }) {
  return (
    <div class={`answer-first is-${answer.names}`} role="status">
      <span class={`severity ${answer.names === "bottleneck" ? "warning" : ""}`}>{WORDS[answer.names]}</span>
      <strong>
        {answer.finding ? (
          <a href={`#finding-${answer.finding}`}>
            <Prose text={answer.text} />
          </a>
        ) : (
          <Prose text={answer.text} />
        )}
      </strong>
      {answer.detail && (
        <p class="about">
          <Prose text={answer.detail} />
        </p>
      )}
    </div>
  );
}

interface Props {
  first: First;
  runs: Run[];
  split: Split | null;
  windows: string[];
}

export function FirstScreen({ first, runs, split, windows }: Props) {
  const { headline, lanes, charts } = first;
  const view = (panel: Panel) => <PanelView key={panel.id} base={panel} runs={runs} wide={false} />;
  const beside = charts.slice(0, MOST - 1);
  const below = split ? [] : charts.slice(MOST - 1);
  const names = runs.map((r) => r.name);
  const right = [
    lanes && view(lanes),
    ...below.map(view),
    split && <WhereTheTimeWent key="split" split={split} names={names} windows={windows} />,
  ];
  // Two columns need something in both.
  const lone = !lanes && !split;
  return (
    <Compact.Provider value={true}>
      {headline?.table && (
        <div id={`panel-${headline.id}`}>
          <Tiles panel={headline} table={headline.table} runs={runs} />
        </div>
      )}
      <div class={lone || charts.length === 0 ? "first lone" : "first"}>
        {beside.length > 0 && <div>{beside.map(view)}</div>}
        {!lone && <div>{right}</div>}
      </div>
    </Compact.Provider>
  );
}
