// Scales of colour beneath heat maps: from none to most, and from less over equal to more.

import type { ComponentChildren } from "preact";
import { diverging, heat } from "../shared";

const stops = (of: (share: number) => number[]) => Array.from({ length: 9 }, (_, i) => `rgb(${of(i / 8).join(",")})`).join(",");

export function HeatScale({ minimum, most, children }: { minimum: string; most: string; children?: ComponentChildren }) {
  return (
    <div class="scale">
      <span>{minimum}</span>
      <span class="heat-bar" style={{ background: `linear-gradient(90deg, ${stops(heat)})` }} />
      <span>{most}</span>
      {children}
    </div>
  );
}

interface Props {
  low: string;
  high: string;
  most: number;
  text: (value: number) => string;
}

export function DivergingScale({ low, high, most, text }: Props) {
  return (
    <div class="scale">
      <span>{`${low} (−${text(most)})`}</span>
      <span class="heat-bar" style={{ background: `linear-gradient(90deg, ${stops((share) => diverging(share * 2 - 1))})` }} />
      <span>{`${high} (+${text(most)})`}</span>
    </div>
  );
}
