// Answers about the time range that charts show, and panels of them.

import { type Answer, offline, useAnswer, type Values } from "../api";
import { PanelView } from "../panel";
import { Failure, Pending } from "../parts";
import type { Panel, Run } from "../payload";
import { place } from "../router";
import { settled, useShared } from "../shared";
import { rangeOf, rounded } from "../zoomlink";

/** The answer to a question about the time range shown; null asks nothing. A file holds only what is about that of its address. */
export function useRanged(question: string | null, run: Run, params: Values = {}): Answer<Panel> {
  const now = useShared(settled);
  const { query } = useShared(place);
  const range = offline ? rangeOf(query.get("from"), query.get("to")) : now;
  const [from, to] = range ? rounded(range) : [null, null];
  return useAnswer("panel", question === null ? null : { question, run: [run.id], from, to, ...params });
}

interface Props {
  question: string;
  run: Run;
  params?: Values;
  /** In the place of the question's own. */
  title?: string;
  about?: string;
  wide?: boolean;
}

/** A question with parameters as a panel; without an answer it takes no place. */
export function Asked({ question, run, params = {}, title, about, wide = false }: Props) {
  const answer = useAnswer("panel", { question, run: [run.id], ...params });
  if (answer.error) return <Failure error={answer.error} />;
  if (!answer.data) return <Pending what={`Asking ${question}`} />;
  const base = { ...answer.data, title: title ?? answer.data.title, about: about ?? answer.data.about };
  return <PanelView base={base} runs={[run]} wide={wide} params={params} />;
}
