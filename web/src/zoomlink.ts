// The stretch of time that charts show, and `from` and `to` of the address: they stay the same.

import { useEffect, useRef } from "preact/hooks";
import { place, refine } from "./router";
import { extent, settled, zoom } from "./shared";

/** To the millisecond: what is asked twice has the same text. */
const round = (s: number) => Math.round(s * 1000) / 1000;

/** Charts show from `begin` to `end`, seconds, unless the address says which part of it. */
export function useZoomInLink(query: URLSearchParams, begin: number, end: number): void {
  const [from, to] = [query.get("from"), query.get("to")];
  // What was last put into the address from here. It comes back as `query`, perhaps after the charts went on: it is no news.
  const written = useRef("");
  useEffect(() => {
    extent.set(end > begin ? [begin, end] : null);
    return () => extent.set(null);
  }, [begin, end]);
  useEffect(() => {
    if (written.current === `${from} ${to}`) return;
    // Nor is an address that has changed since this was drawn.
    const now = place.value.query;
    if (now.get("from") !== from || now.get("to") !== to) return;
    const stretch = from !== null && to !== null ? ([Number(from), Number(to)] as [number, number]) : null;
    const same = stretch?.[0] === zoom.value?.[0] && stretch?.[1] === zoom.value?.[1];
    if (!same && !(stretch && !(stretch[0] < stretch[1]))) zoom.set(stretch);
  }, [from, to]);
  useEffect(() => {
    const off = settled.on((z) => {
      if (z && (round(z[0]) !== z[0] || round(z[1]) !== z[1])) {
        zoom.set([round(z[0]), round(z[1])]);
        return;
      }
      const [begin, end] = z ?? [null, null];
      written.current = `${begin} ${end}`;
      refine({ from: begin, to: end });
    });
    return () => {
      off();
      zoom.set(null);
    };
  }, []);
}
