// The runs as bars on one axis of time: dragging one moves it against the others, and all charts below with it.

import { useRef, useState } from "preact/hooks";
import { colour, theme, useShared, useWidth } from "../shared";
import { clock } from "../units";
import { LETTERS } from "./more";

export interface Timed {
  id: string;
  name: string;
  /** 0 for A, 1 for B, and so on. */
  side: number;
  duration: number;
  /** Seconds to the right. */
  shift: number;
}

interface Props {
  runs: Timed[];
  onShift: (id: string, shift: number) => void;
}

const NAME = 150;

export function Shifts({ runs, onShift }: Props) {
  useShared(theme);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const name = width < 600 ? 84 : NAME;
  const minimum = Math.min(0, ...runs.map((r) => r.shift));
  const most = Math.max(...runs.map((r) => r.shift + r.duration));
  const scale = Math.max(1, width - name - 20) / Math.max(1e-9, most - minimum);
  const moved = runs.filter((r) => r.shift !== 0);
  const back = () => {
    for (const run of moved) onShift(run.id, 0);
  };
  return (
    <div class="shifts" ref={box}>
      <p class="quiet">
        Time is relative to the start of each run. Drag a bar, or use the arrow keys on it, to shift a run against the others.{" "}
        {moved.length > 0 && (
          <button type="button" class="plain" onClick={back}>
            Reset shifts
          </button>
        )}
      </p>
      {runs.map((run) => (
        <Bar key={run.id} run={run} name={name} scale={scale} minimum={minimum} onShift={onShift} />
      ))}
    </div>
  );
}

interface BarProps {
  run: Timed;
  name: number;
  scale: number;
  minimum: number;
  onShift: (id: string, shift: number) => void;
}

function Bar({ run, name, scale, minimum, onShift }: BarProps) {
  const [drag, setDrag] = useState<{ from: number; shift: number } | null>(null);
  const shift = drag ? drag.shift : run.shift;
  const step = run.duration > 120 ? 1 : 0.1;
  const tidy = (s: number) => Math.round(s / step) * step;
  // Keys that repeat come faster than the page is drawn.
  const now = useRef(run.shift);
  now.current = run.shift;
  const move = (s: number) => {
    now.current = Number(tidy(s).toFixed(3));
    onShift(run.id, now.current);
  };
  const keys = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[e.key];
    if (by) move(now.current + by * step * (e.shiftKey ? 10 : 1));
    else if (e.key === "Home" || e.key === "0") move(0);
    else return;
    e.preventDefault();
  };
  return (
    <div class="shift-row">
      <span class="shift-name" style={{ width: `${name}px` }} title={run.name}>{`${LETTERS[run.side]} ${run.name}`}</span>
      <div
        class="shift-bar"
        role="slider"
        tabIndex={0}
        aria-label={`offset of ${run.name}`}
        aria-valuemin={-Math.round(run.duration)}
        aria-valuemax={Math.round(run.duration)}
        aria-valuenow={Number(run.shift.toFixed(1))}
        aria-valuetext={`${clock(run.shift, true)} later`}
        style={{
          marginLeft: `${Math.max(0, (shift - minimum) * scale)}px`,
          width: `${Math.max(6, run.duration * scale)}px`,
          background: colour(run.side),
        }}
        onKeyDown={keys}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag({ from: e.clientX, shift: run.shift });
        }}
        onPointerMove={(e) => drag && setDrag({ ...drag, shift: tidy(run.shift + (e.clientX - drag.from) / scale) })}
        onPointerUp={() => {
          if (drag && drag.shift !== run.shift) move(drag.shift);
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}
      >
        {shift !== 0 && <span class="shift-label">{`${shift > 0 ? "+" : ""}${clock(shift, true)}`}</span>}
      </div>
    </div>
  );
}
