// The value under the pointer, or under the arrow keys: shown in the box beside it, announced to screen readers.

import { useEffect, useState } from "preact/hooks";
import { type Tip, tip } from "../tooltip";

export interface Item {
  /** Where it is within the chart, pixels. */
  x: number;
  y: number;
  head: string;
  lines: Tip["lines"];
  meaning?: string;
  /** What a click or Enter does. */
  act?: () => void;
}

/** Beyond so many pixels nothing is under the pointer. */
const REACH = 40;

export function usePick(items: Item[], box: { current: HTMLElement | null }, near: "x" | "y" | "xy") {
  const [active, setActive] = useState<number | null>(null);
  useEffect(() => () => tip.set(null), []);
  const place = active === null || active >= items.length ? null : active;

  const show = (i: number | null, at?: MouseEvent) => {
    setActive(i);
    if (i === null || !items[i]) return tip.set(null);
    const frame = box.current!.getBoundingClientRect();
    const { x, y, head, lines, meaning } = items[i];
    tip.set({ x: at?.clientX ?? frame.left + x, y: at?.clientY ?? frame.top + y, head, lines, meaning });
  };
  const nearest = (e: MouseEvent): number | null => {
    const frame = box.current!.getBoundingClientRect();
    const [px, py] = [e.clientX - frame.left, e.clientY - frame.top];
    let best: number | null = null;
    let nearest = Infinity;
    items.forEach((item, i) => {
      const [dx, dy] = [item.x - px, item.y - py];
      // Along one axis first; the other only decides between items that stand together.
      const gap = near === "xy" ? Math.hypot(dx, dy) : near === "x" ? Math.abs(dx) + Math.abs(dy) / 1e4 : Math.abs(dy) + Math.abs(dx) / 1e4;
      if (gap < nearest) [nearest, best] = [gap, i];
    });
    return nearest <= REACH ? best : null;
  };
  const events = {
    onMouseMove: (e: MouseEvent) => show(nearest(e), e),
    onMouseLeave: () => show(null),
    onBlur: () => show(null),
    onClick: (e: MouseEvent) => {
      const i = nearest(e);
      if (i !== null) items[i].act?.();
    },
    onKeyDown: (e: KeyboardEvent) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (step && items.length > 0)
        show(place === null ? (step > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, place + step)));
      else if (e.key === "Home" && items.length > 0) show(0);
      else if (e.key === "End" && items.length > 0) show(items.length - 1);
      else if (e.key === "Enter" && place !== null) items[place].act?.();
      else if (e.key === "Escape" && place !== null) show(null);
      else return;
      e.preventDefault();
    },
  };
  const now = place === null ? null : items[place];
  const announced = now ? `${now.head}: ${now.lines.map((l) => `${l.name} ${l.value}`).join(", ")}` : "";
  return { active: place, events, announced };
}
