// What can be done with the runs of a page: take them along, label, compare, delete them.

import { useState } from "preact/hooks";
import { hasDatabase } from "../database/state";
import { Menu } from "../dialog";
import type { Run } from "../payload";
import { printWhole } from "../printing";
import { go, link, place } from "../router";
import { useShared } from "../shared";
import { DeleteDialog, exportOf, LabelDialog } from "./actions";

export function RunTools({ runs, writable }: { runs: Run[]; writable: boolean }) {
  const [asked, setAsked] = useState<"label" | "delete" | null>(null);
  const { path, query } = useShared(place);
  const [one] = runs;
  const page = `${path}?${query.toString()}`;
  const close = () => setAsked(null);
  return (
    <div class="page-tools">
      {runs.length === 1 && hasDatabase(one) && (
        <a class="plain" href={link("/database", { run: one.id, from: query.get("from"), to: query.get("to") })}>
          Database
        </a>
      )}
      {runs.length > 1 ? (
        <a
          class="plain"
          href={link("/compare", {
            a: one.id,
            b: runs
              .slice(1)
              .map((r) => r.id)
              .join(","),
          })}
        >
          Compare
        </a>
      ) : (
        <a class="plain" href={link("/compare", { a: one.id })}>
          Compare with …
        </a>
      )}
      <a class="plain" href={link("/ask", { run: runs.map((r) => r.id) })}>
        Ask
      </a>
      <Menu label="Keep ▾" title="Download this page or its runs">
        <div class="menu-acts">
          <a download href={link("/api/v1/report", { page })}>
            This page as one file
          </a>
          {runs.map((r) => (
            <a key={r.id} download={`${r.id}.tar.zst`} href={exportOf(r.id)}>
              {runs.length > 1 ? `Archive of ${r.name}` : "Archive of the run"}
            </a>
          ))}
          <button type="button" class="link" onClick={() => void printWhole()}>
            Print all of the page
          </button>
        </div>
      </Menu>
      {writable && (
        <button type="button" class="plain" onClick={() => setAsked("label")}>
          Label
        </button>
      )}
      {writable && (
        <button type="button" class="plain danger" onClick={() => setAsked("delete")}>
          Delete
        </button>
      )}
      {asked === "label" && <LabelDialog runs={runs} onClose={close} />}
      {asked === "delete" && <DeleteDialog runs={runs} onClose={close} onDone={() => go("/")} />}
    </div>
  );
}
