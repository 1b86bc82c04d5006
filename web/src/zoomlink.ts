// The time range that charts show, and `from` and `to` of the address: they stay the same.

import { useEffect, useRef } from "preact/hooks";
import { place, refine } from "./router";
import { extent, settled, zoom } from "./shared";

type Range = [from: number, to: number];

/** To the millisecond: what is asked twice has the same text. Never nothing at all, however far one zooms in. */
export function rounded([from, to]: Range): Range {
  const ms = (s: number) => Math.round(s * 1000);
  const begin = ms(from);
  return [begin / 1000, Math.max(begin + 1, ms(to)) / 1000];
}

/** The time range that an address names, seconds since the start; null for all, also where it names none that there can be. */
export function rangeOf(from: string | null, to: string | null): Range | null {
  if (!from || !to) return null;
  const range: Range = [Number(from), Number(to)];
  return range.every(Number.isFinite) && range[0] < range[1] ? range : null;
}

const isSame = (a: Range | null, b: Range | null) => a?.[0] === b?.[0] && a?.[1] === b?.[1];

/** Charts show from `begin` to `end`, seconds, unless the address has a part of it. */
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
    const range = rangeOf(from, to);
    if (!isSame(range, zoom.value)) zoom.set(range);
  }, [from, to]);
  useEffect(() => {
    const off = settled.on((z) => {
      if (z && !isSame(z, rounded(z))) {
        zoom.set(rounded(z));
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
