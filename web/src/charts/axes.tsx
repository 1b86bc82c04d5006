// The frame of a chart drawn as SVG: box, grid, ticks, names of the axes.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useWidth } from "../shared";
import { type Item, usePick } from "./pick";
import { type Scale, tickTexts } from "./scale";
import "./charts.css";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const LEFT = 76;
export const RIGHT = 30;

/** Where the inside of a chart of this size begins and ends. */
export function inside(width: number, height: number, below = 44, left = LEFT): Box {
  return { left, right: Math.max(left + 20, width - RIGHT), top: 22, bottom: height - below };
}

interface AxesProps {
  box: Box;
  x: Scale;
  y: Scale;
  xUnit?: string;
  yUnit?: string;
  xName?: string;
  yName?: string;
  /** Text of a tick, where it is not a number. */
  xText?: (tick: number) => string;
  yText?: (tick: number) => string;
}

export function Axes({ box, x, y, xUnit = "", yUnit = "", xName, yName, xText, yText }: AxesProps) {
  const { left, right, top, bottom } = box;
  const xs = xText ? x.ticks.map(xText) : tickTexts(x.ticks, xUnit);
  const ys = yText ? y.ticks.map(yText) : tickTexts(y.ticks, yUnit);
  const edge = (t: number) => (x.at(t) > right - 12 && !xText ? "end" : "middle");
  return (
    <g class="axes">
      {x.ticks.map((t) => (
        <line key={`x${t}`} class="grid" x1={x.at(t)} x2={x.at(t)} y1={top} y2={bottom + 4} />
      ))}
      {y.ticks.map((t) => (
        <line key={`y${t}`} class="grid" x1={left - 4} x2={right} y1={y.at(t)} y2={y.at(t)} />
      ))}
      {x.ticks.map((t, i) => (
        <text key={`xt${t}`} x={x.at(t)} y={bottom + 17} text-anchor={edge(t)}>
          {xs[i]}
        </text>
      ))}
      {y.ticks.map((t, i) => (
        <text key={`yt${t}`} x={left - 7} y={y.at(t) + 4} text-anchor="end">
          {ys[i]}
        </text>
      ))}
      {xName && (
        <text class="axis-name" x={(left + right) / 2} y={bottom + 35} text-anchor="middle">
          {xName}
        </text>
      )}
      {yName && (
        <text class="axis-name" x={left} y={top - 10} text-anchor="start">
          {yName}
        </text>
      )}
    </g>
  );
}

interface FrameProps {
  /** What it shows, for those who cannot see it. */
  label: string;
  height: (width: number) => number;
  /** Draws it at this size. */
  draw: (width: number, height: number) => { picture: ComponentChildren; items: Item[] };
  /** How the item under the pointer is found. */
  near?: "x" | "y" | "xy";
}

/** A chart of one's own drawing, as wide as its place; pointer and arrow keys go from item to item. */
export function Frame({ label: text, height, draw, near = "xy" }: FrameProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const high = height(width);
  const { picture, items } = width > 60 ? draw(width, high) : { picture: null, items: [] };
  const pick = usePick(items, box, near);
  const at = pick.active === null ? undefined : items[pick.active];
  return (
    <div
      class="chart own"
      ref={box}
      tabIndex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={`${text}. Arrow keys go from value to value.`}
      style={{ height: `${high}px`, cursor: at?.act ? "pointer" : "default" }}
      {...pick.events}
    >
      <svg width={width} height={high} aria-hidden="true">
        {picture}
        {at && near !== "y" && <circle class="picked" cx={at.x} cy={at.y} r="6" />}
      </svg>
      <div class="unseen" aria-live="polite">
        {pick.announced}
      </div>
    </div>
  );
}

/** Colours and names beneath a chart. */
export function Key({ entries }: { entries: { name: string; colour: string; dashed?: boolean }[] }) {
  if (entries.length < 2) return null;
  return (
    <div class="key">
      {entries.map((e) => (
        <span key={e.name}>
          <span class={e.dashed ? "swatch dashed" : "swatch"} style={{ background: e.colour, borderColor: e.colour }} /> {e.name}
        </span>
      ))}
    </div>
  );
}
