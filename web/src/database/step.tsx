// Links that change part of the page's address: each step can be sent, and gone back from.

import type { ComponentChildren } from "preact";
import { lists, offline, type Values } from "../api";
import { link, place, refine } from "../router";
import { useShared } from "../shared";

interface Props {
  to: Values;
  children: ComponentChildren;
  class?: string;
  title?: string;
  current?: boolean;
}

/** A link to this page with `to` changed; the page stays where it is scrolled. */
export function Step({ to, children, current, ...rest }: Props) {
  const { path, query } = useShared(place);
  const follow = (e: MouseEvent) => {
    if (e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    refine(to, true);
  };
  // A file holds the answers of its address only.
  if (offline) return <span class={rest.class}>{children}</span>;
  return (
    <a {...rest} href={link(path, { ...lists(query), ...to })} aria-current={current ? "true" : undefined} onClick={follow}>
      {children}
    </a>
  );
}
