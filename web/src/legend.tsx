// Names of series with their colours: a click hides or shows one, a double click shows it alone.

import { useState } from "preact/hooks";

export interface Entry {
  name: string;
  colour: string;
  dashed: boolean;
  value: string;
  title: string;
}

interface Props {
  entries: Entry[];
  shown: ReadonlySet<number>;
  onChange: (shown: ReadonlySet<number>) => void;
  /** So many are listed; the rest is found by searching. */
  first: number;
}

export function Legend({ entries, shown, onChange, first }: Props) {
  const [search, setSearch] = useState("");
  const many = entries.length > first;
  const wanted = search.toLowerCase();
  const listed = entries
    .map((entry, i) => ({ entry, i }))
    .filter(({ entry, i }) => (wanted ? entry.name.toLowerCase().includes(wanted) : i < first || shown.has(i)));
  const toggle = (i: number) => {
    const next = new Set(shown);
    if (!next.delete(i)) next.add(i);
    onChange(next);
  };
  const solo = (i: number) => onChange(shown.size === 1 && shown.has(i) ? new Set(entries.keys()) : new Set([i]));
  return (
    <div class="legend">
      {listed.slice(0, 40).map(({ entry, i }) => (
        <button
          key={i}
          type="button"
          aria-pressed={shown.has(i)}
          title={`${entry.title}\nClick: hide or show. Double click: this one alone.`}
          onClick={() => toggle(i)}
          onDblClick={() => solo(i)}
        >
          <span class={entry.dashed ? "swatch dashed" : "swatch"} style={{ background: entry.colour, borderColor: entry.colour }} />
          {entry.name} <span class="legend-value">{entry.value}</span>
        </button>
      ))}
      {many && (
        <label class="legend-search">
          <span class="quiet">{`top ${first} of ${entries.length}`}</span>
          <input type="search" placeholder="find more" aria-label="find a series" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
        </label>
      )}
    </div>
  );
}
