// The box beside the pointer: time, values and what they mean.

import { Shared, useShared } from "./shared";

export interface Tip {
  x: number;
  y: number;
  head: string;
  lines: { colour?: string; name: string; value: string; near?: boolean }[];
  /** What happened then. */
  notes?: string[];
  more?: string;
  meaning?: string;
}

export const tip = new Shared<Tip | null>(null);

export function Tooltip() {
  const t = useShared(tip);
  if (!t) return null;
  const right = t.x > innerWidth / 2;
  const low = t.y > innerHeight / 2;
  const style: Record<string, string> = {};
  if (right) style.right = `${document.documentElement.clientWidth - t.x + 14}px`;
  else style.left = `${t.x + 14}px`;
  if (low) style.bottom = `${innerHeight - t.y + 10}px`;
  else style.top = `${t.y + 10}px`;
  return (
    <div class="tooltip" style={style} aria-hidden="true">
      <div class="tip-head">{t.head}</div>
      {t.lines.map((l) => (
        <div class={l.near ? "tip-line near" : "tip-line"}>
          {l.colour && <span class="swatch" style={{ background: l.colour }} />}
          <span class="tip-name">{l.name}</span>
          <span class="tip-value">{l.value}</span>
        </div>
      ))}
      {t.notes?.map((note) => (
        <div class="tip-note" key={note}>
          {note}
        </div>
      ))}
      {t.more && <div class="tip-more">{t.more}</div>}
      {t.meaning && <div class="tip-meaning">{t.meaning}</div>}
    </div>
  );
}
