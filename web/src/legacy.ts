// Reports of version 1, which held one payload instead of the answers of a page.

import type { Panel, Run } from "./payload";

interface Old {
  version: number;
  title: string;
  generator: string;
  runs: Run[];
  findings: unknown;
  sections: { id: string; title: string; panels: Panel[] }[];
}

/** The same report as the answers that the page of its runs asks for. */
export function upgraded(old: Old, request: (path: string, values: Record<string, string | string[]>) => string) {
  const run = old.runs.map((r) => r.id);
  const answers: Record<string, unknown> = {
    [request("run", { run })]: { title: old.title, runs: old.runs, sections: old.sections },
    [request("findings", { run })]: old.findings,
  };
  for (const panel of old.sections.flatMap((s) => s.panels)) answers[request("panel", { question: panel.id, run })] = panel;
  const page = `/run?${new URLSearchParams(run.map((id) => ["run", id])).toString()}`;
  return { version: 2, title: old.title, generator: old.generator, page, answers };
}
