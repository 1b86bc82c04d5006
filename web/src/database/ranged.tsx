// Answers about the time range that charts show, and panels of them.

import { type Answer, type Values, useAnswer } from "../api";
import { PanelView } from "../panel";
import { Failure, Pending } from "../parts";
import type { Panel, Run } from "../payload";
import { settled, useShared } from "../shared";
import { rounded } from "../zoomlink";

/** The answer to a question about the time range shown; null asks nothing. */
export function useRanged(question: string | null, run: Run, params: Values = {}): Answer<Panel> {
  const range = useShared(settled);
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
