// What can be done with the runs that were picked: look, compare, average, export, label, delete.

import { useState } from "preact/hooks";
import { change, changed } from "../api";
import type { Averaged } from "../api.gen";
import { Dialog, Field } from "../dialog";
import { go, link } from "../router";
import { halves, type Listed } from "./list";

type Asked = "average" | "label" | "delete" | null;

interface Props {
  picked: Listed[];
  writable: boolean;
  onClear: () => void;
}

export function PickBar({ picked, writable, onClear }: Props) {
  const [asked, setAsked] = useState<Asked>(null);
  const ids = picked.map((r) => r.id);
  const [a, b] = halves(picked);
  const several = picked.length > 1;
  const list = (runs: Listed[]) => runs.map((r) => r.id).join(",");
  const close = () => setAsked(null);
  return (
    <div class="pickbar" role="region" aria-label="runs picked">
      <strong>{`${picked.length} picked`}</strong>
      <a class="plain" href={link("/run", { run: ids })}>
        {several ? "Overlay" : "Open"}
      </a>
      {several && (
        <a
          class="plain"
          href={link("/compare", { a: list(a), b: list(b) })}
          title={`${a.map((r) => r.name).join(", ")} against ${b.map((r) => r.name).join(", ")}`}
        >
          Compare
        </a>
      )}
      {several && writable && (
        <button type="button" class="plain" onClick={() => setAsked("average")}>
          Average
        </button>
      )}
      <a class="plain" download href={several ? link("/api/v1/export", { run: ids }) : exportOf(ids[0])}>
        Export
      </a>
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
      <button type="button" class="plain" onClick={onClear}>
        Clear
      </button>
      {asked === "average" && <AverageDialog runs={picked} onClose={close} />}
      {asked === "label" && <LabelDialog runs={picked} onClose={close} />}
      {asked === "delete" && <DeleteDialog runs={picked} onClose={close} onDone={onClear} />}
    </div>
  );
}

export const exportOf = (id: string) => `/api/v1/runs/${encodeURIComponent(id)}/export`;

function AverageDialog({ runs, onClose }: { runs: Listed[]; onClose: () => void }) {
  const [name, setName] = useState(`${runs[0].name} average`);
  const [window, setWindow] = useState("");
  const [drop, setDrop] = useState(true);
  const act = async () => {
    const made = await change<Averaged>("POST", "average", {
      runs: runs.map((r) => r.id),
      name,
      window: window || null,
      drop_outliers: drop,
    });
    go(link("/run", { run: made.run }));
  };
  return (
    <Dialog title={`Average ${runs.length} runs`} act="Average" onAct={act} onClose={onClose}>
      <Field label="Name of the new run">
        <input type="text" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
      </Field>
      <Field label="Window" help="A window name, `all`, or `10s..60s`; empty for the detected steady state.">
        <input type="text" value={window} onInput={(e) => setWindow(e.currentTarget.value)} />
      </Field>
      <label class="check">
        <input type="checkbox" checked={drop} onChange={(e) => setDrop(e.currentTarget.checked)} /> Leave out outliers
      </label>
    </Dialog>
  );
}

/** Tags as a person writes them, one `key=value` a line. */
const lines = (tags: Record<string, string>) =>
  Object.entries(tags)
    .map(([k, v]) => `${k}=${v}`)
    .join("\n");
function tagsOf(text: string): Record<string, string> {
  const pairs = text
    .split("\n")
    .map((l) => l.trim())
    .filter(Boolean)
    .map((l) => l.split(/=(.*)/s));
  const wrong = pairs.find(([key, value]) => !key || value === undefined);
  if (wrong) throw new Error(`a label is written \`key=value\`, not \`${wrong.join("=")}\``);
  return Object.fromEntries(pairs.map(([k, v]) => [k.trim(), v.trim()]));
}

export interface Labels {
  id: string;
  name: string;
  tags: Record<string, string>;
  baseline: boolean;
  remarks: string[];
}

export function LabelDialog({ runs, onClose }: { runs: Labels[]; onClose: () => void }) {
  const one = runs.length === 1 ? runs[0] : undefined;
  // A run without a name is shown by its id.
  const [name, setName] = useState(one && one.name !== one.id ? one.name : "");
  const [tags, setTags] = useState(one ? lines(one.tags) : "");
  const [baseline, setBaseline] = useState(runs.every((r) => r.baseline));
  const [remark, setRemark] = useState(one?.remarks.join("\n") ?? "");
  const act = async () => {
    const given = tagsOf(tags);
    for (const run of runs) {
      const remarks = remark
        .split("\n")
        .map((l) => l.trim())
        .filter(Boolean);
      const labels = one
        ? { name, tags: given, baseline, remarks }
        : { tags: { ...run.tags, ...given }, baseline, ...(remarks.length > 0 ? { remarks: [...run.remarks, ...remarks] } : {}) };
      await change("PUT", `runs/${encodeURIComponent(run.id)}/labels`, labels);
    }
  };
  return (
    <Dialog title={one ? `Label ${one.name}` : `Label ${runs.length} runs`} act="Save" onAct={act} onClose={onClose}>
      {one && (
        <Field label="Name">
          <input type="text" value={name} onInput={(e) => setName(e.currentTarget.value)} />
        </Field>
      )}
      <Field label={one ? "Labels" : "Labels to add"} help="One `key=value` a line.">
        <textarea rows={4} value={tags} onInput={(e) => setTags(e.currentTarget.value)} />
      </Field>
      <Field label={one ? "Remarks" : "Remark to add"} help="One a line.">
        <textarea rows={2} value={remark} onInput={(e) => setRemark(e.currentTarget.value)} />
      </Field>
      <label class="check">
        <input type="checkbox" checked={baseline} onChange={(e) => setBaseline(e.currentTarget.checked)} /> Baseline: what later runs are
        compared with
      </label>
    </Dialog>
  );
}

export function DeleteDialog({ runs, onClose, onDone }: { runs: { id: string; name: string }[]; onClose: () => void; onDone: () => void }) {
  const act = async () => {
    for (const run of runs) await change("DELETE", `runs/${encodeURIComponent(run.id)}`);
    onDone();
    changed();
  };
  return (
    <Dialog
      title={runs.length === 1 ? `Delete ${runs[0].name}?` : `Delete ${runs.length} runs?`}
      act="Delete"
      danger
      onAct={act}
      onClose={onClose}
    >
      <p>This permanently deletes the recording from the store; export it first to keep a copy.</p>
      <ul class="names">
        {runs.slice(0, 12).map((r) => (
          <li key={r.id}>
            {r.name} <span class="quiet">{r.id}</span>
          </li>
        ))}
      </ul>
      {runs.length > 12 && <p class="quiet">{`and ${runs.length - 12} more`}</p>}
    </Dialog>
  );
}
