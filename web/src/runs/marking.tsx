// Marks that people set beside a run: a moment gets a name, which every chart over time shows.

import { useState } from "preact/hooks";
import { change, changed, forget, request } from "../api";
import { Dialog, Field } from "../dialog";
import { MARKS, type Moment } from "../marks";
import type { Run } from "../payload";
import { useShared, zoom } from "../shared";
import { authored, clock } from "../units";
import { NamedItems } from "./named";

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

/** The marks of a run, each removable: a click shows what was around it. What the recorder marked itself is none of them. */
export function Marks({ run, moments, writable }: { run: Run; moments: Moment[]; writable: boolean }) {
  const around = run.duration_s / 20;
  const marks = moments.filter((m) => m.kind === "mark");
  const items = marks.map((m) => ({
    key: `${m.from} ${m.text}`,
    name: m.text,
    when: clock(m.from, fine(run)),
    range: [Math.max(0, m.from - around), Math.min(run.duration_s, m.from + around)] as [number, number],
    author: authored(run.marked.find((mark) => mark.text === m.text && Math.abs(mark.at_s - m.from) < 0.001)?.author),
    loses: `${run.name} loses this name of a moment; the recording is kept. What the recorder marked itself stays.`,
  }));
  const remove = ({ name }: { name: string }) => {
    forgetMoments(run);
    return change("DELETE", address(run, name)).then(changed);
  };
  const title = "Show what was around this moment in all charts";
  return <NamedItems what="mark" title={title} items={items} writable={writable} remove={remove} />;
}
