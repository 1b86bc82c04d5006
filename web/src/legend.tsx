// Names of series with their colours: a click hides or shows one, a double click shows it alone.

import { useState } from "preact/hooks";

export interface Entry {
  name: string;
  colour: string;
  dashed: boolean;
  value: string;
  title: string;
  /** Nothing but zeros: listed only when asked for. */
  zero?: boolean;
}

interface Props {
  entries: Entry[];
  shown: ReadonlySet<number>;
  /** Null shows the usual ones. */
  onChange: (shown: ReadonlySet<number> | null) => void;
  /** So many are listed; the rest is found by searching. */
  first: number;
}

/** So many names are listed at most. */
const LISTED = 40;

export function Legend({ entries, shown, onChange, first }: Props) {
  const [search, setSearch] = useState("");
  const [zeros, setZeros] = useState(false);
  const wanted = search.toLowerCase();
  const many = entries.length > first;
  const folded = entries.filter((e, i) => e.zero && !shown.has(i)).length;
  const listed = entries
    .map((entry, i) => ({ entry, i }))
    .filter(({ entry, i }) => (wanted ? entry.name.toLowerCase().includes(wanted) : shown.has(i) || (i < first && (!entry.zero || zeros))));
  const toggle = (i: number) => {
    const next = new Set(shown);
    if (!next.delete(i)) next.add(i);
    onChange(next);
  };
  const solo = (i: number) => onChange(shown.size === 1 && shown.has(i) ? null : new Set([i]));
  return (
    <div class="legend">
      {listed.slice(0, LISTED).map(({ entry, i }) => (
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
      {listed.length > LISTED && <span class="quiet">{`and ${listed.length - LISTED} more`}</span>}
      {folded > 0 && !wanted && (
        <button type="button" class="legend-zeros" aria-expanded={zeros} onClick={() => setZeros(!zeros)}>
          {zeros ? "hide rows of zeros" : `${folded} always zero`}
        </button>
      )}
      {many && (
        <label class="legend-search">
          <span class="quiet">{`${shown.size} of ${entries.length} shown`}</span>
          <input
            type="search"
            placeholder="find more"
            aria-label="find a series"
            value={search}
            onInput={(e) => setSearch(e.currentTarget.value)}
          />
        </label>
      )}
    </div>
  );
}
