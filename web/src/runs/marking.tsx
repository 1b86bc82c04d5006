// Marks that people set beside a run: a moment gets a name, which every chart over time shows.

import { useState } from "preact/hooks";
import { change, changed, forget, request } from "../api";
import { Dialog, Field } from "../dialog";
import { MARKS, type Moment } from "../marks";
import type { Run } from "../payload";
import { useShared, zoom } from "../shared";
import { clock } from "../units";

const address = (run: Run, text = "") => `runs/${encodeURIComponent(run.id)}/marks${text && `/${encodeURIComponent(text)}`}`;
const fine = (run: Run) => run.duration_s < 600;
/** Lets the moments of a run be asked for again once its marks have changed. */
const forgetMoments = (run: Run) => forget(request("panel", { question: MARKS, run: [run.id] }));

/** Gives a moment of the run a name: the beginning of the range that is shown, or one that is typed. */
export function MarkMoment({ run }: { run: Run }) {
  const range = useShared(zoom);
  const [asked, setAsked] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState("0");
  const open = () => {
    setAt(String(range ? Math.max(0, Math.round(range[0] * 1000) / 1000) : 0));
    setText("");
    setAsked(true);
  };
  const seconds = Number(at);
  const act = () => {
    forgetMoments(run);
    return change("POST", address(run), { at_s: seconds, text });
  };
  return (
    <>
      <button type="button" title="Name a moment of this run; all charts over time show it" onClick={open}>
        Mark a moment
      </button>
      {asked && (
        <Dialog title="Mark a moment" act="Mark" onClose={() => setAsked(false)} onAct={act}>
          <Field label="What happened">
            <input
              type="text"
              required
              maxLength={500}
              placeholder="failover begins"
              value={text}
              onInput={(e) => setText(e.currentTarget.value)}
            />
          </Field>
          <Field
            label="Seconds from the start"
            help={`${clock(seconds, true)} of ${clock(run.duration_s, fine(run))}. Zoom first: the range begins here.`}
          >
            <input
              type="number"
              required
              min={0}
              max={run.duration_s}
              step="any"
              value={at}
              onInput={(e) => setAt(e.currentTarget.value)}
            />
          </Field>
        </Dialog>
      )}
    </>
  );
}

/** The marks of a run, each removable: a click shows what was around it. */
export function Marks({ run, moments, writable }: { run: Run; moments: Moment[]; writable: boolean }) {
  const [leaving, setLeaving] = useState<Moment | null>(null);
  const marks = moments.filter((m) => m.kind === "mark");
  if (marks.length === 0) return null;
  const remove = (mark: Moment) => {
    forgetMoments(run);
    return change("DELETE", address(run, mark.text)).then(changed);
  };
  const around = run.duration_s / 20;
  return (
    <div class="fact">
      <dt>marks</dt>
      <dd class="windows">
        {marks.map((m) => (
          <span key={`${m.from} ${m.text}`} class="window">
            <button
              type="button"
              class="chip"
              title="Show what was around this moment in all charts"
              onClick={() => zoom.set([Math.max(0, m.from - around), Math.min(run.duration_s, m.from + around)])}
            >{`${m.text} ${clock(m.from, fine(run))}`}</button>
            {writable && (
              <button
                type="button"
                class="remove"
                aria-label={`remove the mark ${m.text}`}
                title="Remove this mark"
                onClick={() => setLeaving(m)}
              >
                ✕
              </button>
            )}
          </span>
        ))}
      </dd>
      {leaving && (
        <Dialog
          title={`Remove the mark ${leaving.text}?`}
          act="Remove"
          danger
          onClose={() => setLeaving(null)}
          onAct={() => remove(leaving)}
        >
          <p>{`${run.name} loses this name of a moment; the recording is kept. What the recorder marked itself stays.`}</p>
        </Dialog>
      )}
    </div>
  );
}
