// Which series of which chart are hidden or shown besides the usual ones; kept in the address, as `hide` and `show`.

import { useMemo } from "preact/hooks";
import { place, refine } from "./router";
import { useShared } from "./shared";

const mine = (panel: string, list: string[]) =>
  list.filter((entry) => entry.startsWith(`${panel}/`)).map((entry) => entry.slice(panel.length + 1));

/** The series shown, by place; `names` identify them, `usual` are shown unless the address has others. `set`
 * takes null for the usual ones. */
export function useShown(
  panel: string,
  names: string[],
  usual: ReadonlySet<number>,
): [ReadonlySet<number>, (next: ReadonlySet<number> | null) => void] {
  const { query } = useShared(place);
  const [hidden, added] = [mine(panel, query.getAll("hide")), mine(panel, query.getAll("show"))];
  const shown = useMemo(() => {
    if (hidden.length === 0 && added.length === 0) return usual;
    const in_ = (i: number) => (usual.has(i) ? !hidden.includes(names[i]) : added.includes(names[i]));
    return new Set(names.map((_, i) => i).filter(in_));
  }, [hidden.join("\n"), added.join("\n"), names.join("\n"), usual]);
  const set = (next: ReadonlySet<number> | null) => {
    const others = (list: string) => query.getAll(list).filter((entry) => !entry.startsWith(`${panel}/`));
    const entries = (want: (i: number) => boolean) =>
      next === null ? [] : names.flatMap((name, i) => (want(i) ? [`${panel}/${name}`] : []));
    refine({
      hide: [...others("hide"), ...entries((i) => usual.has(i) && !next!.has(i))],
      show: [...others("show"), ...entries((i) => !usual.has(i) && next!.has(i))],
    });
  };
  return [shown, set];
}
