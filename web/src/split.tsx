// Where the time went: the time of each group as a bar of its parts, how each was measured, and by how much it changed.

import { useContext, useRef } from "preact/hooks";
import { paint } from "./activity";
import type { Part, Split } from "./api.gen";
import { Frame, Key } from "./charts/axes";
import type { Item } from "./charts/pick";
import { linear } from "./charts/scale";
import { TakeAway } from "./charts/takeaway";
import { Compact } from "./compact";
import { Prose } from "./parts";
import { human, MISSING, percent } from "./units";

const BAR = 34;
const STEP = BAR + 14;
/** Width of a letter in a bar, so that a name is written only where it fits. */
const LETTER = 6.6;

const NAMES: Record<string, string> = { latency: "latency of a transaction", elapsed: "elapsed time" };

/** What was split, in words. */
export const titleOf = (split: Split): string => `Where the ${NAMES[split.what] ?? split.what} went`;

/** A bar for each group, which `names` identifies where there are several; `windows` has the part, where not of all. */
export function WhereTheTimeWent({ split, names, windows = [] }: { split: Split; names: string[]; windows?: string[] }) {
  const chart = useRef<HTMLDivElement>(null);
  const title = titleOf(split);
  const groups = split.whole.means.length;
  const compact = useContext(Compact);
  const parts = (
    <>
      <Parts split={split} names={names} />
      {split.notes.length > 0 && (
        <ul class="quiet">
          {split.notes.map((note) => (
            <li key={note}>
              <Prose text={note} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
  return (
    <section id="section-split">
      {!compact && <h2>Where the time went</h2>}
      <article class="panel wide">
        <div class="panel-head">
          <h3>{title}</h3>
          <TakeAway
            title={title}
            chart={chart}
            rows={() => ({ head: ["part", ...names], rows: split.parts.map((p) => [p.name, ...p.means]) })}
          />
        </div>
        {windows.length > 0 && <p class="quiet">{`Over ${[...new Set(windows)].join(", ")} of the run.`}</p>}
        <div ref={chart}>
          <Frame label={title} height={() => groups * STEP + 6} draw={(width) => bars(split, names, width)} near="xy" />
          <Key entries={split.parts.filter(isDrawn).map((p) => ({ name: p.name, colour: paint(p.name) }))} />
        </div>
        {compact ? (
          <details class="nothing">
            <summary>parts and how they were measured</summary>
            {parts}
          </details>
        ) : (
          parts
        )}
      </article>
    </section>
  );
}

const isDrawn = (part: Part) => part.means.some((mean) => (mean ?? 0) > 0);

function bars(split: Split, names: string[], width: number) {
  const many = names.length > 1;
  const left = many ? Math.min(width / 4, 16 + LETTER * Math.max(...names.map((n) => n.length))) : 4;
  const sum = (group: number) => split.parts.reduce((all, p) => all + Math.max(0, p.means[group] ?? 0), 0);
  const most = Math.max(...split.whole.means.map((whole, group) => Math.max(whole ?? 0, sum(group))));
  const xs = linear([0, most], [left, width - 86], split.unit);
  const items: Item[] = [];
  const picture = split.whole.means.map((whole, group) => {
    let from = 0;
    const y = group * STEP + 4;
    const segments = split.parts.map((part) => {
      const value = Math.max(0, part.means[group] ?? 0);
      const [x, w] = [xs.at(from), xs.at(from + value) - xs.at(from)];
      from += value;
      if (!(w > 0)) return null;
      items.push({
        x: x + w / 2,
        y: y + BAR / 2,
        head: [many ? names[group] : "", part.name].filter(Boolean).join(" · "),
        lines: about(split, part, group),
      });
      return (
        <g key={part.name}>
          <rect x={x} y={y} width={Math.max(0.5, w - 1)} height={BAR} fill={paint(part.name)} />
          {w > LETTER * part.name.length + 10 && (
            <text x={x + w / 2} y={y + BAR / 2 + 4} text-anchor="middle" style={{ fill: "#fff" }}>
              {part.name}
            </text>
          )}
        </g>
      );
    });
    const end = xs.at(whole ?? 0);
    return (
      <g key={`${group} ${names[group]}`}>
        {many && (
          <text class="strong" x={left - 8} y={y + BAR / 2 + 4} text-anchor="end">
            {short(names[group], left)}
          </text>
        )}
        {segments}
        {/* Where parts exceed the whole, its end lies within the bar. */}
        <line x1={end} x2={end} y1={y - 4} y2={y + BAR + 4} stroke="currentColor" stroke-width="1.5" />
        <text class="strong" x={Math.max(end, xs.at(from)) + 8} y={y + BAR / 2 + 4}>
          {human(whole ?? 0, split.unit)}
        </text>
      </g>
    );
  });
  return { picture: <g class="marks">{picture}</g>, items };
}

function short(name: string, pixels: number): string {
  const room = Math.max(3, Math.floor((pixels - 10) / LETTER));
  return name.length > room ? `${name.slice(0, room - 1)}…` : name;
}

function about(split: Split, part: Part, group: number) {
  const mean = part.means[group] ?? 0;
  const lines = [{ name: split.what, value: `${human(mean, split.unit)} of ${human(split.whole.means[group] ?? 0, split.unit)}` }];
  const share = part.shares[group];
  if (share !== null) lines.push({ name: "share", value: percent(share) });
  const how = part.measured[group];
  if (how) lines.push({ name: "measured", value: how });
  return lines;
}

function Parts({ split, names }: { split: Split; names: string[] }) {
  const rows = [...split.parts, { ...split.whole, about: "" }];
  const compared = split.whole.change !== null;
  const signed = (v: number) => `${v > 0 ? "+" : v < 0 ? "−" : ""}${human(Math.abs(v), split.unit)}`;
  const value = (v: number | null) => (v === null ? MISSING : human(v, split.unit));
  const range = (interval: number[] | null, say: (v: number) => string) => (interval ? interval.map(say).join(" … ") : MISSING);
  const whole = split.whole.change?.value ?? 0;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="parts of the time">
      <table>
        <thead>
          <tr>
            <th>part</th>
            {split.whole.means.map((_, i) => (
              <th key={`${i} ${names[i]}`} class="num">
                {names.length > 1 ? names[i] : "mean"}
              </th>
            ))}
            {compared ? <th class="num">change</th> : null}
            {compared || names.length < 2 ? <th class="num">95% interval</th> : null}
            {compared ? <th class="num">share of the change</th> : names.length < 2 ? <th class="num">share</th> : null}
            <th>measured</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((p, i) => (
            <tr key={p.name} class={i === rows.length - 1 ? "strong" : undefined} title={p.about || undefined}>
              <td>{p.name}</td>
              {p.means.map((mean, group) => (
                <td key={`${group} ${names[group]}`} class="num">
                  {value(mean)}
                </td>
              ))}
              {compared ? <td class="num">{p.change ? signed(p.change.value) : MISSING}</td> : null}
              {compared ? (
                <td class="num">{range(p.change?.interval ?? null, signed)}</td>
              ) : names.length < 2 ? (
                <td class="num">{range(p.intervals[0], value)}</td>
              ) : null}
              {compared ? (
                <td class="num">{whole === 0 || !p.change ? MISSING : percent(p.change.value / whole)}</td>
              ) : names.length < 2 ? (
                <td class="num">{p.shares[0] === null ? MISSING : percent(p.shares[0])}</td>
              ) : null}
              <td>{[...new Set(p.measured.filter(Boolean))].join(" | ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
