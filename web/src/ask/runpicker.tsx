// Chooses the runs that a question is asked of.

import { useState } from "preact/hooks";
import { useAnswer } from "../api";
import { Menu } from "../dialog";
import { Prose } from "../parts";
import type { RunList } from "../runs/list";
import { useShared, zone } from "../shared";
import { moment } from "../units";

interface Props {
  chosen: string[];
  onChange: (runs: string[]) => void;
  /** What is meant when nothing is chosen. */
  otherwise: string;
}

export function RunPicker({ chosen, onChange, otherwise }: Props) {
  const [text, setText] = useState("");
  const [opened, setOpened] = useState(false);
  useShared(zone);
  const list = useAnswer("runs", opened || chosen.length > 0 ? { text, limit: 50 } : null).data;
  const toggle = (id: string) => onChange(chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id]);
  const label = chosen.length === 0 ? otherwise : chosen.length === 1 ? name(chosen[0], list) : `${chosen.length} runs`;
  return (
    <span onPointerDown={() => setOpened(true)} onFocusIn={() => setOpened(true)}>
      <Menu label={`${label} ▾`} title="The runs that are asked">
        <input
          type="search"
          class="wide-search"
          placeholder="find a run"
          aria-label="find a run"
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
        />
        <div class="menu-list">
          {chosen
            .filter((id) => !list?.rows.some((r) => r.id === id))
            .map((id) => (
              <label class="check" key={id}>
                <input type="checkbox" checked onChange={() => toggle(id)} />
                {id}
              </label>
            ))}
          {list?.rows.map((r) => (
            <label class="check" key={r.id}>
              <input type="checkbox" checked={chosen.includes(r.id)} onChange={() => toggle(r.id)} />
              <span>
                {r.name || r.id} <span class="quiet">{moment(r.start_ms)}</span>
              </span>
            </label>
          ))}
          {list?.total === 0 && <p class="quiet">No matching runs.</p>}
        </div>
        <p class="quiet">
          <Prose text="Default: the latest run, `@1`." />
        </p>
      </Menu>
    </span>
  );
}

function name(id: string, list: RunList | undefined): string {
  return list?.rows.find((r) => r.id === id)?.name ?? id;
}
