// Folded stacks as a tree, and the tree as boxes. A second list of stacks gives the other side of a difference.

export type Folded = [stack: string, count: number][];

export interface Node {
  name: string;
  /** Of the stacks shown, with all that it called. */
  count: number;
  /** Of the stacks compared with. */
  other: number;
  children: Node[];
  parent: Node | null;
}

export interface Rect {
  node: Node;
  depth: number;
  /** As shares of the whole width. */
  from: number;
  to: number;
  /** Calls the frame that is zoomed to. */
  above: boolean;
}

interface Growing extends Node {
  byName: Map<string, Growing>;
}

const grow = (name: string, parent: Node | null): Growing => ({ name, count: 0, other: 0, children: [], parent, byName: new Map() });

/** Adds up stacks, which are frames from the outermost to the innermost with `;` between. */
export function tree(stacks: Folded, others: Folded = []): Node {
  const root = grow("all", null);
  const add = (list: Folded, side: "count" | "other") => {
    for (const [stack, count] of list) {
      root[side] += count;
      let node = root;
      for (const name of stack.split(";")) {
        let child = node.byName.get(name);
        if (!child) {
          child = grow(name, node);
          node.byName.set(name, child);
          node.children.push(child);
        }
        child[side] += count;
        node = child;
      }
    }
  };
  add(stacks, "count");
  add(others, "other");
  const sort = (node: Growing) => {
    node.children.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const child of node.byName.values()) sort(child);
  };
  sort(root);
  return root;
}

/** Boxes of what is at least `minimum` of the width wide, with the frames that lead to `zoom` above it. */
export function rects(zoom: Node, minimum: number): Rect[] {
  const out: Rect[] = [];
  const above: Node[] = [];
  for (let n = zoom.parent; n; n = n.parent) above.unshift(n);
  for (const [depth, node] of above.entries()) out.push({ node, depth, from: 0, to: 1, above: true });
  const total = weight(zoom);
  const place = (node: Node, depth: number, from: number) => {
    const to = from + weight(node) / total;
    if (to - from < minimum) return;
    out.push({ node, depth, from, to, above: false });
    let at = from;
    for (const child of node.children) {
      place(child, depth + 1, at);
      at += weight(child) / total;
    }
  };
  if (total > 0) place(zoom, above.length, 0);
  return out;
}

/** What decides the width: the stacks shown; what is only in the others has none. */
export function weight(node: Node): number {
  return node.count;
}

/** Change of a frame's share of all samples, from the others to those shown; percentage points. */
export function gained(node: Node, root: Node): number {
  const share = (count: number, all: number) => (all > 0 ? (100 * count) / all : 0);
  return share(node.count, root.count) - share(node.other, root.other);
}

/** Whether this is a frame, which the root is not, and its name has `text`, in small letters. */
export function isFound(node: Node, text: string): boolean {
  return node.parent !== null && node.name.toLowerCase().includes(text);
}

/** Samples in frames whose name has `text`, each sample once. */
export function found(node: Node, text: string): number {
  if (isFound(node, text)) return node.count;
  return node.children.reduce((sum, child) => sum + found(child, text), 0);
}
