// The stretch of time that charts show, and `from` and `to` of the address: they stay the same.

import { useEffect } from "preact/hooks";
import { refine } from "./router";
import { extent, settled, zoom } from "./shared";

/** To the millisecond: what is asked twice has the same text. */
const round = (s: number) => Math.round(s * 1000) / 1000;

/** Charts show from `begin` to `end`, seconds, unless the address says which part of it. */
export function useZoomInLink(query: URLSearchParams, begin: number, end: number): void {
  const [from, to] = [query.get("from"), query.get("to")];
  useEffect(() => {
    extent.set(end > begin ? [begin, end] : null);
    return () => extent.set(null);
  }, [begin, end]);
  useEffect(() => {
    const stretch = from !== null && to !== null ? ([Number(from), Number(to)] as [number, number]) : null;
    const same = stretch?.[0] === zoom.value?.[0] && stretch?.[1] === zoom.value?.[1];
    if (!same && !(stretch && !(stretch[0] < stretch[1]))) zoom.set(stretch);
  }, [from, to]);
  useEffect(() => {
    const off = settled.on((z) => {
      if (z === null) refine({ from: null, to: null });
      else if (round(z[0]) !== z[0] || round(z[1]) !== z[1]) zoom.set([round(z[0]), round(z[1])]);
      else refine({ from: z[0], to: z[1] });
    });
    return () => {
      off();
      zoom.set(null);
    };
  }, []);
}
