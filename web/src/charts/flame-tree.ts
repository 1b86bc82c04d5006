// Folded stacks as a tree, and the tree as boxes. A second list of stacks gives the other side of a difference.

export type Folded = [stack: string, count: number][];

/** Frames of a stack that are drawn; of a deeper one a last frame has the number of the rest. */
const DEPTH = 1000;
/** Boxes that are drawn: more take a browser seconds. */
export const BOXES = 10_000;

export interface Node {
  /** Distinguishes it from all others of its tree. */
  id: number;
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

/** The frames of a stack, from the outermost on. */
function frames(stack: string): string[] {
  const all = stack.split(";");
  // What the server has cut has that last frame already.
  if (all.length <= DEPTH + 1) return all;
  return [...all.slice(0, DEPTH), `[${all.length - DEPTH} more frames]`];
}

/** Adds up stacks, which are frames from the outermost to the innermost with `;` between. */
export function tree(stacks: Folded, others: Folded = []): Node {
  const all: Growing[] = [];
  const grow = (name: string, parent: Growing | null): Growing => {
    const node = { id: all.length, name, count: 0, other: 0, children: [], parent, byName: new Map() };
    all.push(node);
    return node;
  };
  const root = grow("all", null);
  const add = (list: Folded, side: "count" | "other") => {
    for (const [stack, count] of list) {
      root[side] += count;
      let node = root;
      for (const name of frames(stack)) {
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
  for (const node of all) node.children.sort((a, b) => (a.name < b.name ? -1 : 1));
  return root;
}

/** Boxes of what is at least `minimum` of the width wide, with the frames that lead to `zoom` above it. Of more than BOXES the
 * innermost are left out. */
export function rects(zoom: Node, minimum: number): Rect[] {
  const boxes: Rect[] = [];
  const above: Node[] = [];
  for (let n = zoom.parent; n; n = n.parent) above.push(n);
  for (const [depth, node] of above.reverse().entries()) boxes.push({ node, depth, from: 0, to: 1, above: true });
  const total = weight(zoom);
  if (total > 0 && minimum <= 1) boxes.push({ node: zoom, depth: above.length, from: 0, to: 1, above: false });
  // Row by row: each box adds those below it.
  for (let i = above.length; i < boxes.length; i++) {
    const { node, depth, from } = boxes[i];
    let at = from;
    for (const child of node.children) {
      const to = at + weight(child) / total;
      if (to - at >= minimum && boxes.length < BOXES) boxes.push({ node: child, depth: depth + 1, from: at, to, above: false });
      at = to;
    }
  }
  return boxes.sort((a, b) => a.from - b.from || a.depth - b.depth);
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
  let sum = 0;
  const rest = [node];
  for (let next = rest.pop(); next; next = rest.pop()) {
    if (isFound(next, text)) sum += next.count;
    else for (const child of next.children) rest.push(child);
  }
  return sum;
}
