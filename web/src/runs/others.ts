// What others say about the runs of a page, shown as they say it: the server sends an event when labels, remarks or marks have changed.

import { useEffect } from "preact/hooks";
import { changed, forget, offline, request } from "../api";
import { MARKS } from "../marks";
import type { Run } from "../payload";

/** So many runs are watched. */
const MOST = 20;

/** Lets what is shown of runs be asked for again when somebody has changed their labels. */
export function useOthers(runs: Run[]): void {
  const ids = runs.slice(0, MOST).map((run) => run.id);
  const all = runs.map((run) => run.id);
  useEffect(() => {
    if (offline || ids.length === 0) return;
    const versions = new Map<string, string>();
    let source: EventSource | null = null;
    const hear = (event: MessageEvent<string>) => {
      const { run, version } = JSON.parse(event.data) as { run: string; version: string };
      const before = versions.get(run);
      versions.set(run, version);
      if (before === undefined || before === version) return;
      forget(request("panel", { question: MARKS, run: all }));
      changed();
    };
    // A browser has few connections to a server: pages out of sight keep none, and ask anew when they are seen again.
    const listen = () => {
      source?.close();
      source = null;
      if (document.hidden) return;
      source = new EventSource(`/api/v1/live?${new URLSearchParams(ids.map((id) => ["labels", id]))}`);
      source.addEventListener("labels", hear);
      source.addEventListener("end", () => source?.close());
    };
    listen();
    document.addEventListener("visibilitychange", listen);
    return () => {
      document.removeEventListener("visibilitychange", listen);
      source?.close();
    };
  }, [all.join()]);
}
