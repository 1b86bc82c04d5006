// Names that people gave to parts or moments of a run, as chips: a click shows one in all charts, and who may write can remove it.

import { useState } from "preact/hooks";
import { Dialog } from "../dialog";
import { zoom } from "../shared";

export interface Item {
  key: string;
  name: string;
  /** When, behind the name. */
  when: string;
  /** What a click shows, seconds. */
  range: [number, number];
  /** Who gave it the name, and when, if that is known. */
  author?: string;
  /** What its removal means. */
  loses: string;
}

interface Props {
  /** What each of them is, in one word. */
  what: string;
  /** What a click does. */
  title: string;
  items: Item[];
  writable: boolean;
  remove: (item: Item) => Promise<unknown>;
}

export function NamedItems({ what, title, items, writable, remove }: Props) {
  const [leaving, setLeaving] = useState<Item | null>(null);
  if (items.length === 0) return null;
  return (
    <div class="fact">
      <dt>{`${what}s`}</dt>
      <dd class="windows">
        {items.map((item) => (
          <span key={item.key} class="window">
            <button
              type="button"
              class="chip"
              title={item.author ? `${title}. ${item.author}` : title}
              onClick={() => zoom.set(item.range)}
            >{`${item.name} ${item.when}`}</button>
            {writable && (
              <button
                type="button"
                class="remove"
                aria-label={`remove the ${what} ${item.name}`}
                title={`Remove this ${what}`}
                onClick={() => setLeaving(item)}
              >
                ✕
              </button>
            )}
          </span>
        ))}
      </dd>
      {leaving && (
        <Dialog
          title={`Remove the ${what} ${leaving.name}?`}
          act="Remove"
          danger
          onClose={() => setLeaving(null)}
          onAct={() => remove(leaving)}
        >
          <p>{leaving.loses}</p>
        </Dialog>
      )}
    </div>
  );
}
