// More than two groups: each further one (`c` of the address, repeated) is compared with A, and all stand side by side.

import { ApiError, offline, useAnswers } from "../api";
import { TakeAway } from "../charts/takeaway";
import { refine } from "../router";
import { colour, theme, useShared } from "../shared";
import { human } from "../units";
import { asked } from "./asked";
import { Picker } from "./picker";
import { changeText, type Comparison, isNews, type Line, metricName, signOf, titles } from "./types";
import { useState } from "preact/hooks";

export const LETTERS = "ABCDEFGHIJKL";
/** Metrics that are shown beside the results. */
const METRICS = 30;

/** The comparisons of further groups with A, as far as they are here. */
export function useMore(query: URLSearchParams, ready: boolean): { groups: string[]; answers: (Comparison | ApiError | undefined)[] } {
  const groups = query.getAll("c").filter(Boolean);
  const answers = useAnswers("compare", ready ? groups.map((c) => ({ ...asked(query), b: c })) : null);
  return { groups, answers };
}

/** Adds a group, or takes one away. */
export function MoreChooser({ query }: { query: URLSearchParams }) {
  const [text, setText] = useState("");
  const groups = query.getAll("c").filter(Boolean);
  if (offline) return null;
  const add = () => {
    if (text.trim()) refine({ c: [...groups, text.trim()] }, true);
    setText("");
  };
  return (
    <div class="chooser more-groups">
      {groups.map((c, i) => (
        <button
          key={c}
          type="button"
          class="chip"
          title="Take this group away"
          onClick={() => refine({ c: groups.filter((_, n) => n !== i) }, true)}
        >
          {`${LETTERS[i + 2] ?? "+"} · ${c} ✕`}
        </button>
      ))}
      <Picker label={`${LETTERS[groups.length + 2] ?? "+"}, one more group beside them`} value={text} onInput={setText} onDone={add} />
      <button type="button" class="plain" disabled={!text.trim()} onClick={add}>
        Add
      </button>
    </div>
  );
}

interface Side {
  letter: string;
  title: string;
  found: Comparison | ApiError | undefined;
}

/** All groups side by side: what was changed in each, and how its results and what moved most differ from A. */
export function AllGroups({ found, query, answers }: { found: Comparison; query: URLSearchParams; answers: Side["found"][] }) {
  useShared(theme);
  const groups = query.getAll("c").filter(Boolean);
  if (groups.length === 0) return null;
  const sides: Side[] = [found, ...answers].map((one, i) => ({
    letter: LETTERS[i + 1] ?? "+",
    title: one && !(one instanceof ApiError) ? titles(one)[1] : (groups[i - 1] ?? ""),
    found: one,
  }));
  const of = (side: Side) => (side.found && !(side.found instanceof ApiError) ? side.found : undefined);
  const keyOf = (l: Line) => `${l.table} ${l.column} ${l.key}`;
  const lines = (which: "results" | "metrics") => {
    const all = new Map<string, (Line | undefined)[]>();
    sides.forEach((side, i) => {
      for (const line of of(side)?.comparison?.[which] ?? []) {
        const row = all.get(keyOf(line)) ?? sides.map(() => undefined);
        row[i] = line;
        all.set(keyOf(line), row);
      }
    });
    return [...all.values()];
  };
  const weight = (row: (Line | undefined)[]) => Math.max(0, ...row.map((l) => (l && isNews(l) ? Math.min(10, Math.abs(l.change)) : 0)));
  const metrics = lines("metrics").filter((row) => weight(row) > 0);
  metrics.sort((a, b) => weight(b) - weight(a));
  const rows = [...lines("results"), ...metrics.slice(0, METRICS)];
  const sheet = () => ({
    head: ["metric", "A", ...sides.flatMap((s) => [s.letter, `${s.letter} change`, `${s.letter} verdict`])],
    rows: rows.map((row) => {
      const first = row.find((l) => l)!;
      return [
        [metricName(first), first.key].filter(Boolean).join(" "),
        first.means[0],
        ...row.flatMap((l) => [l?.means[1] ?? null, l?.change ?? null, l?.verdict ?? ""]),
      ];
    }),
  });
  return (
    <section id="section-groups">
      <div class="panel-head">
        <h2>All groups against A</h2>
        <TakeAway title="All groups" rows={sheet} />
      </div>
      <ul class="members">
        {sides.map((side) => (
          <li key={side.letter}>
            <span class="swatch" style={{ background: colour(LETTERS.indexOf(side.letter)) }} />{" "}
            <strong>{`${side.letter} · ${side.title}`}</strong> <Changes side={side} />
          </li>
        ))}
      </ul>
      <div class="scroll" tabIndex={0} role="region" aria-label="all groups">
        <table class="verdicts">
          <thead>
            <tr>
              <th>metric</th>
              <th class="num">A</th>
              {sides.map((s) => (
                <th key={s.letter} class="num" colSpan={2}>
                  {s.letter}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const first = row.find((l) => l)!;
              return (
                <tr key={keyOf(first)}>
                  <th scope="row" title={first.doc}>
                    {metricName(first)}
                    {first.key && <span class="key-of">{first.key.replace(/,/g, ", ")}</span>}
                  </th>
                  <td class="num">{human(first.means[0], first.unit)}</td>
                  {row.map((l, i) => [
                    <td key={`${sides[i].letter} mean`} class="num">
                      {l ? human(l.means[1], l.unit) : "–"}
                    </td>,
                    <td key={`${sides[i].letter} change`} class="num">
                      {l && (
                        <span class={`verdict ${l.verdict.split(" ")[0]}`} title={l.verdict}>
                          {l.change === 0 ? "0" : `${changeText(l, l.change, human)} ${signOf(l.verdict)}`}
                        </span>
                      )}
                    </td>,
                  ])}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {metrics.length > METRICS && <p class="quiet">{`The ${METRICS} metrics of ${metrics.length} that moved most.`}</p>}
    </section>
  );
}

/** What was changed in a group, or why it is not compared. */
function Changes({ side: { found } }: { side: Side }) {
  if (!found) return <span class="quiet">comparing …</span>;
  if (found instanceof ApiError) return <span class="error">{found.message}</span>;
  const refusing = found.reasons.filter((r) => r.refuses).map((r) => r.text);
  if (!found.comparison) return <span class="error">{`not compared: ${refusing.join("; ")}`}</span>;
  const changed = found.changed.map((c) => `${c.name} ${c.from ?? "none"} → ${c.to ?? "none"}`);
  return <span class="quiet">{changed.length > 0 ? changed.join("; ") : "settings alike"}</span>;
}
