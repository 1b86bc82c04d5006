// Where the page is. The address is the state: what one sees can be sent as a link, and going back works.

import { embedded, lists, offline, pairs, type Values } from "./api";
import { Shared, useShared } from "./shared";

export interface Place {
  path: string;
  query: URLSearchParams;
}

function placeOf(address: string): Place {
  const url = new URL(address, "http://localhost");
  return { path: url.pathname, query: url.searchParams };
}

/** The present place; in a file that of the page it holds. */
export const place = new Shared<Place>(placeOf(embedded?.page ?? location.pathname + location.search));
export const usePlace = (): Place => useShared(place);

/** An address; nothing and false are left out, lists repeat the name. */
export function link(path: string, values: Values = {}): string {
  // Colons, commas and slashes stay readable.
  const query = new URLSearchParams(pairs(values)).toString().replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%2F/g, "/");
  return query ? `${path}?${query}` : path;
}

/** The address shown, without what is behind its `#`. */
let shown = location.pathname + location.search;

function note(address: string, replace: boolean): void {
  if (offline) return;
  shown = address;
  if (replace) history.replaceState(history.state, "", address);
  else {
    history.replaceState({ y: scrollY }, "");
    history.pushState(null, "", address);
  }
}

/** Goes to another page. */
export function go(address: string): void {
  note(address, false);
  place.set(placeOf(address));
  scrollTo(0, 0);
}

/** Changes the query of this page; `keep` makes a step that one can go back from. */
export function refine(values: Values, keep = false): void {
  const all = lists(place.value.query);
  const address = link(place.value.path, { ...all, ...values });
  if (address === link(place.value.path, all)) return;
  note(address, !keep);
  place.set(placeOf(address));
}

/** Follows links within the program without loading the page again. */
function follow(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin) return;
  if (a.pathname.startsWith("/api/") || a.pathname.startsWith("/log")) return;
  if (a.hash && a.pathname === location.pathname && a.search === location.search) return;
  e.preventDefault();
  go(a.pathname + a.search);
}

/** Begins to follow links and the browser's own buttons. */
export function startRouter(): void {
  if (offline) return;
  history.scrollRestoration = "manual";
  addEventListener("click", follow);
  addEventListener("popstate", (e) => {
    const address = location.pathname + location.search;
    // A link within the page: the browser goes there by itself.
    if (address === shown) return;
    shown = address;
    place.set(placeOf(address));
    const y = (e.state as { y?: number } | null)?.y ?? 0;
    requestAnimationFrame(() => scrollTo(0, y));
  });
}
