// A flame graph: width is the share of samples, below each frame what it called. A click zooms, a search
// highlights; with other stacks to compare with, colour is the change of a frame's share.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { diverging, useWidth } from "../shared";
import { tip } from "../tooltip";
import { human, plural } from "../units";
import { BOXES, type Folded, found, gained, isFound, type Node, type Rect, rects, tree } from "./flame-tree";
import { DivergingScale } from "./legend-scale";
import "./charts.css";

const ROW = 18;
/** Narrower boxes are left out, pixels. */
const MINIMUM = 0.6;
const LETTER = 7.25;
/** Characters of a name that are shown where it is not in its box. */
const NAME = 400;

interface Props {
  title: string;
  stacks: Folded;
  unit: string;
  /** Stacks to compare with: colour is then what those shown have more or less. */
  others?: Folded;
  /** Names of the two sides. */
  names?: [others: string, shown: string];
}

export function Flame({ title, stacks, unit, others, names }: Props) {
  const root = useMemo(() => tree(stacks, others), [stacks, others]);
  const [zoom, setZoom] = useState<Node>(root);
  const [chosen, setChosen] = useState<Node | null>(null);
  const [search, setSearch] = useState("");
  const outer = useRef<HTMLDivElement>(null);
  const width = useWidth(outer);
  useEffect(() => {
    setZoom(root);
    setChosen(null);
    return () => tip.set(null);
  }, [root]);
  const top = zoom === root || isUnder(zoom, root) ? zoom : root;
  const boxes = useMemo(() => (width > 60 ? rects(top, MINIMUM / width) : []), [top, width]);
  const most = useMemo(() => (others ? Math.max(0.5, ...boxes.map((b) => Math.abs(gained(b.node, root)))) : 0), [boxes, others]);
  const wanted = search.trim().toLowerCase();
  const words = (node: Node) => describe(node, root, unit, others ? names : undefined);

  const go = (node: Node) => {
    setZoom(node);
    setChosen(node);
    tip.set(null);
  };
  const hover = (e: MouseEvent, box: Rect) => {
    setChosen(box.node);
    tip.set({ x: e.clientX, y: e.clientY, head: shortened(box.node.name), lines: words(box.node) });
  };
  const keys = (e: KeyboardEvent) => {
    const next = step(e.key, chosen ?? top, top);
    if (next) setChosen(next);
    else if (e.key === "Enter" && chosen) go(chosen);
    else if ((e.key === "Escape" || e.key === "Backspace") && top !== root) go(e.key === "Escape" ? root : (top.parent ?? root));
    else return;
    tip.set(null);
    e.preventDefault();
  };
  if (root.count === 0) return <p class="quiet">There are no samples.</p>;
  const depth = 1 + boxes.reduce((deepest, b) => Math.max(deepest, b.depth), 0);
  return (
    <div>
      <div class="flame-tools">
        <label>
          <span class="unseen">highlight frames</span>
          <input type="search" placeholder="highlight frames" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
        </label>
        {wanted && <span>{`${percent(found(root, wanted), root.count)} of all samples`}</span>}
        {top !== root && (
          <button type="button" class="plain" onClick={() => go(root)}>
            Show all
          </button>
        )}
        {boxes.length >= BOXES && <span>{`${plural(BOXES, "frame")} are drawn; a click on one draws more of what it called`}</span>}
        {others && names && (
          <DivergingScale low={`less in ${names[1]}`} high={`more in ${names[1]}`} most={most} text={(v) => `${v.toFixed(1)} points`} />
        )}
      </div>
      <div
        class="flame"
        ref={outer}
        tabIndex={0}
        role="group"
        aria-roledescription="flame graph"
        aria-label={`${title}: ${amount(root.count, unit)} in all. Arrow keys go from frame to frame, Enter zooms, Escape shows all.`}
        onKeyDown={keys}
        onMouseLeave={() => tip.set(null)}
      >
        <svg width={width} height={depth * ROW} aria-hidden="true">
          {boxes.map((box) => (
            <Frame
              key={box.node.id}
              box={box}
              width={width}
              fill={fill(box.node, root, wanted, most)}
              chosen={box.node === chosen}
              onHover={hover}
              onClick={go}
            />
          ))}
        </svg>
      </div>
      <div class="flame-foot" aria-live="polite">
        {chosen
          ? `${shortened(chosen.name)}: ${words(chosen)
              .map((l) => `${l.name} ${l.value}`)
              .join(", ")}`
          : `${amount(root.count, unit)} in all`}
      </div>
    </div>
  );
}

interface FrameProps {
  box: Rect;
  width: number;
  fill: string;
  chosen: boolean;
  onHover: (e: MouseEvent, box: Rect) => void;
  onClick: (node: Node) => void;
}

function Frame({ box, width, fill: paint, chosen, onHover, onClick }: FrameProps) {
  const [x, w] = [box.from * width, (box.to - box.from) * width];
  const letters = Math.floor((w - 6) / LETTER);
  const name = box.node.name;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the whole chart takes keys, and a frame under the pointer is what they would choose
    <g class={box.above ? "above" : undefined} onMouseMove={(e) => onHover(e, box)} onClick={() => onClick(box.node)}>
      <rect class={chosen ? "chosen" : undefined} x={x} y={box.depth * ROW} width={Math.max(0.3, w)} height={ROW} fill={paint} />
      {letters >= 3 && (
        <text class={isDeep(paint) ? "light" : undefined} x={x + 4} y={box.depth * ROW + 13}>
          {name.length > letters ? `${name.slice(0, letters - 1)}…` : name}
        </text>
      )}
    </g>
  );
}

/** Samples are counted, digit by digit; times are scaled. */
function amount(count: number, unit: string): string {
  return unit === "samples" ? plural(count, "sample") : human(count, unit);
}

const shortened = (name: string) => (name.length > NAME ? `${name.slice(0, NAME)}…` : name);

function isUnder(node: Node, root: Node): boolean {
  let at: Node | null = node;
  while (at && at !== root) at = at.parent;
  return at === root;
}

const percent = (part: number, all: number) => `${((100 * part) / all).toFixed(part === all ? 0 : 2)}%`;

function describe(node: Node, root: Node, unit: string, names?: [string, string]) {
  const own = node.count - node.children.reduce((sum, child) => sum + child.count, 0);
  const lines = [
    { name: names ? names[1] : "with what it called", value: `${percent(node.count, root.count)} (${amount(node.count, unit)})` },
    { name: "itself", value: `${percent(own, root.count)} (${amount(own, unit)})` },
  ];
  if (!names) return lines;
  const change = gained(node, root);
  const other = { name: names[0], value: root.other > 0 ? `${percent(node.other, root.other)} (${amount(node.other, unit)})` : "–" };
  return [other, lines[0], { name: "change", value: `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(2)} points` }];
}

/** The frame that an arrow key leads to: down to the widest call, up to the caller, sideways among its calls. */
function step(key: string, from: Node, top: Node): Node | null {
  const widest = (list: Node[]) => list.reduce<Node | null>((best, n) => (n.count > (best?.count ?? 0) ? n : best), null);
  if (key === "ArrowDown") return widest(from.children);
  if (key === "ArrowUp") return from === top ? null : from.parent;
  if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
  const beside = (from.parent?.children ?? []).filter((n) => n.count > 0);
  return beside[beside.indexOf(from) + (key === "ArrowRight" ? 1 : -1)] ?? null;
}

/** Colour of a frame: change of its share, or one of some warm shades by its name; the kernel's are blue. */
function fill(node: Node, root: Node, wanted: string, most: number): string {
  if (wanted && isFound(node, wanted)) return "#c77dff";
  if (most > 0) return `rgb(${diverging(gained(node, root) / most).join(",")})`;
  let hash = 7;
  for (let i = 0; i < node.name.length; i++) hash = (hash * 31 + node.name.charCodeAt(i)) >>> 0;
  const shade = hash % 24;
  return isKernel(node.name) ? `hsl(205 62% ${70 + shade / 3}%)` : `hsl(${34 + shade / 2} 88% ${66 + shade / 2}%)`;
}

/** Whether dark letters could not be read on it. */
function isDeep(paint: string): boolean {
  const [r, g, b] = (paint.match(/^rgb\((\d+),(\d+),(\d+)\)$/) ?? []).slice(1).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b < 125;
}

function isKernel(name: string): boolean {
  return /_?\[k\]$|^\[kernel|\[kernel\.kallsyms\]/.test(name);
}
