// Chooses a group of runs: a selector, or several with commas between, completed from names, labels and ids.

import { useId, useMemo } from "preact/hooks";
import { offline, useAnswer } from "../api";

/** What can be typed, the part after the last comma completed. */
export function useSelectors(text: string): string[] {
  const known = useAnswer("runs", offline ? null : { limit: 200 }).data;
  return useMemo(() => {
    if (!known) return [];
    const before = text.includes(",") ? text.slice(0, text.lastIndexOf(",") + 1) : "";
    const taken = new Set(before.split(",").map((s) => s.trim()));
    const labels = known.tags.flatMap((t) => t.values.map((v) => `${t.key}=${v}`));
    const all = [...new Set([...known.rows.map((r) => r.name), ...labels, "@1", "@2", ...known.rows.map((r) => r.id)])];
    return all
      .filter((s) => s && !taken.has(s) && !s.includes(","))
      .slice(0, 400)
      .map((s) => before + s);
  }, [known, text]);
}

interface Props {
  label: string;
  value: string;
  onInput: (text: string) => void;
  onDone: () => void;
}

export function Picker({ label, value, onInput, onDone }: Props) {
  const id = useId();
  const selectors = useSelectors(value);
  return (
    <label class="picker">
      <span>{label}</span>
      <input
        type="text"
        list={`selectors-${id}`}
        value={value}
        placeholder="name, label=value, @1"
        spellcheck={false}
        autocomplete="off"
        onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={(e) => e.key === "Enter" && onDone()}
      />
      <datalist id={`selectors-${id}`}>
        {selectors.map((s) => (
          <option key={s} value={s} />
        ))}
      </datalist>
    </label>
  );
}
