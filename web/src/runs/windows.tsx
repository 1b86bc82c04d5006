// Named parts of a run: a click shows one, the time range that is shown can become one.

import { useState } from "preact/hooks";
import { change, changed } from "../api";
import { Dialog, Field } from "../dialog";
import type { Named, Run } from "../payload";
import { useShared, zoom } from "../shared";
import { clock } from "../units";

const address = (run: Run, name: string) => `runs/${encodeURIComponent(run.id)}/windows/${encodeURIComponent(name)}`;
const span = (w: Named) => `${clock(w.from_s, w.to_s - w.from_s < 10)} – ${clock(w.to_s, w.to_s - w.from_s < 10)}`;

export function Windows({ run, writable }: { run: Run; writable: boolean }) {
  const [leaving, setLeaving] = useState<Named | null>(null);
  const windows = run.windows ?? [];
  if (windows.length === 0) return null;
  return (
    <div class="fact">
      <dt>windows</dt>
      <dd class="windows">
        {windows.map((w) => (
          <span key={w.name} class="window">
            <button
              type="button"
              class="chip"
              title="Show this part in all charts"
              onClick={() => zoom.set([w.from_s, w.to_s])}
            >{`${w.name} ${span(w)}`}</button>
            {writable && (
              <button
                type="button"
                class="remove"
                aria-label={`remove the window ${w.name}`}
                title="Remove this window"
                onClick={() => setLeaving(w)}
              >
                ✕
              </button>
            )}
          </span>
        ))}
      </dd>
      {leaving && (
        <Dialog
          title={`Remove the window ${leaving.name}?`}
          act="Remove"
          danger
          onClose={() => setLeaving(null)}
          onAct={() => change("DELETE", address(run, leaving.name)).then(changed)}
        >
          <p>{`${span(leaving)} of ${run.name} loses its name; the recording is kept.`}</p>
        </Dialog>
      )}
    </div>
  );
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
