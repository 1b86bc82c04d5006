// Named parts of a run: a click shows one, the time range that is shown can become one.

import { useState } from "preact/hooks";
import { change, changed } from "../api";
import { Dialog, Field } from "../dialog";
import type { Named, Run } from "../payload";
import { useShared, zoom } from "../shared";
import { clock } from "../units";
import { NamedItems } from "./named";

const address = (run: Run, name: string) => `runs/${encodeURIComponent(run.id)}/windows/${encodeURIComponent(name)}`;
const span = (w: Named) => `${clock(w.from_s, w.to_s - w.from_s < 10)} – ${clock(w.to_s, w.to_s - w.from_s < 10)}`;

export function Windows({ run, writable }: { run: Run; writable: boolean }) {
  const items = (run.windows ?? []).map((w) => ({
    key: w.name,
    name: w.name,
    when: span(w),
    range: [w.from_s, w.to_s] as [number, number],
    loses: `${span(w)} of ${run.name} loses its name; the recording is kept.`,
  }));
  const remove = ({ name }: { name: string }) => change("DELETE", address(run, name)).then(changed);
  return <NamedItems what="window" title="Show this part in all charts" items={items} writable={writable} remove={remove} />;
}

/** Shown while a time range is: gives it a name in every run of the page. */
export function SaveWindow({ runs }: { runs: Run[] }) {
  const range = useShared(zoom);
  const [asked, setAsked] = useState(false);
  const [name, setName] = useState("steady");
  if (!range) return null;
  const [from, to] = range;
  const act = async () => {
    for (const run of runs) await change("PUT", address(run, name), { from_s: Math.max(0, from), to_s: Math.min(run.duration_s, to) });
  };
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        Save as window
      </button>
      {asked && (
        <Dialog title={`Name ${span({ name: "", from_s: from, to_s: to })}`} act="Save" onClose={() => setAsked(false)} onAct={act}>
          <Field label="Name" help="Comparisons and averages can be limited to this time range.">
            <input type="text" required pattern="[A-Za-z0-9_.\-]+" value={name} onInput={(e) => setName(e.currentTarget.value)} />
          </Field>
        </Dialog>
      )}
    </>
  );
}
