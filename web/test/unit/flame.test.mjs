// Folded stacks as a tree, and the tree as boxes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ tree, rects, gained, found, isFound, BOXES }] = await load(["charts/flame-tree.ts"]);
const STACKS = [
  ["d", 5],
  ["a;c", 2],
  ["a;b", 3],
];
const child = (node, name) => node.children.find((c) => c.name === name);

test("a frame counts its own samples and those of all that it called, by name", () => {
  const root = tree(STACKS);
  assert.equal(root.count, 10);
  assert.deepEqual(
    root.children.map((c) => [c.name, c.count]),
    [
      ["a", 5],
      ["d", 5],
    ],
  );
  assert.deepEqual(
    child(root, "a").children.map((c) => [c.name, c.count]),
    [
      ["b", 3],
      ["c", 2],
    ],
  );
  assert.equal(child(root, "a").parent, root);
});

test("a frame called like a property of every object is a frame", () => {
  const root = tree([["__proto__;constructor", 1]]);
  assert.equal(root.children[0].name, "__proto__");
  assert.equal(root.children[0].children[0].name, "constructor");
});

test("boxes lie within those of their callers, as wide as their share", () => {
  const boxes = rects(tree(STACKS), 0).map((r) => [r.node.name, r.depth, r.from, r.to]);
  const want = [
    ["all", 0, 0, 1],
    ["a", 1, 0, 0.5],
    ["b", 2, 0, 0.3],
    ["c", 2, 0.3, 0.5],
    ["d", 1, 0.5, 1],
  ];
  assert.deepEqual(boxes, want);
});

test("what is narrower than asked is left out with all that it called", () => {
  const root = tree([
    ["a", 99],
    ["b;c", 1],
  ]);
  assert.deepEqual(
    rects(root, 0.02).map((r) => r.node.name),
    ["all", "a"],
  );
});

test("a frame that is zoomed to takes the whole width, below those that led to it", () => {
  const boxes = rects(child(child(tree(STACKS), "a"), "b"), 0).map((r) => [r.node.name, r.depth, r.from, r.to, r.above]);
  assert.deepEqual(boxes, [
    ["all", 0, 0, 1, true],
    ["a", 1, 0, 1, true],
    ["b", 2, 0, 1, false],
  ]);
});

test("without samples there is nothing to draw", () => {
  assert.deepEqual(rects(tree([]), 0), []);
  assert.deepEqual(
    rects(tree([], [["a", 1]]), 0).map((r) => r.node.name),
    [],
    "what only the other side has has no width",
  );
});

test("a difference is of shares, in percentage points", () => {
  const root = tree(STACKS, [
    ["a;b", 10],
    ["e", 30],
  ]);
  // a: 5 of 10 against 10 of 40.
  assert.equal(gained(child(root, "a"), root), 25);
  assert.equal(gained(child(root, "d"), root), 50);
  assert.equal(gained(child(root, "e"), root), -75);
  assert.equal(gained(child(tree(STACKS), "a"), tree(STACKS)), 50, "against nothing all is gained");
});

test("a search counts every sample once, and the whole is no frame", () => {
  const root = tree([
    ["main;read;read", 2],
    ["main;Read_all", 3],
    ["main;write", 4],
  ]);
  assert.equal(found(root, "read"), 5);
  assert.equal(found(root, "main"), 9);
  assert.equal(found(root, "all"), 3);
  assert.equal(found(root, "nothing"), 0);
  assert.equal(isFound(root, "all"), false);
});

test("a stack without an end is cut, and its last frame has the number of missing ones", () => {
  const stack = Array.from({ length: 100_000 }, (_, i) => `f${i}`).join(";");
  const root = tree([
    [stack, 3],
    ["f0;g", 1],
  ]);
  const boxes = rects(root, 0);
  assert.equal(boxes.length, 1 + 1001 + 1);
  const deepest = boxes.reduce((a, b) => (b.depth > a.depth ? b : a));
  assert.deepEqual([deepest.node.name, deepest.node.count, deepest.depth], ["[99000 more frames]", 3, 1001]);
  assert.equal(found(root, "f999"), 3);
  assert.equal(found(root, "f99999"), 0);
  assert.equal(rects(deepest.node, 0).at(-1).node, deepest.node);
});

test("a stack that the server has cut is drawn as it comes", () => {
  const stack = `${Array.from({ length: 1000 }, (_, i) => `f${i}`).join(";")};[7 more frames]`;
  assert.equal(rects(tree([[stack, 1]]), 0).at(-1).node.name, "[7 more frames]");
});

test("of more frames than can be drawn the innermost are left out", () => {
  const stacks = Array.from({ length: 12_000 }, (_, i) => [`a;b${i % 4};c${i}`, 1]);
  const boxes = rects(tree(stacks), 0);
  assert.equal(boxes.length, BOXES);
  assert.equal(boxes.filter((b) => b.depth <= 2).length, 6);
});
